"""A server that answers as an API server might, and a kubeconfig for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster import connection as connections
from tf_cluster.cluster.doctor.bundle import read_bundle
from tf_cluster.cluster.snapshot import Snapshot, Training

RECORDINGS = Path(__file__).with_name("recordings")
EMPTY = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}


Body = dict[str, Any] | bytes


@dataclass
class Server:
    """Answers every request by the next of `answers`, then with an empty list. No Kubernetes.

    What stands in `by_path` is answered so, as often as it is asked.

    An answer of bytes whose headers have `Broken` ends too early.
    """

    answers: list[tuple[int, Body, dict[str, str]]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    by_path: dict[str, tuple[int, Body, dict[str, str]]] = field(default_factory=dict)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            one.asked.append((self.path, self.headers.get("Authorization", "")))
            given = one.by_path.get(self.path.partition("?")[0])
            code, body, headers = given or (one.answers.pop(0) if one.answers else (200, EMPTY, {}))
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw) + ("Broken" in headers)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield one
    http.shutdown()
    thread.join()
    http.server_close()


def config(server: str, **user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": "abc"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "vision"}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
    }


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def used(*documents: Any) -> list[Path]:
        paths = []
        for number, document in enumerate(documents):
            path = tmp_path / f"config-{number}"
            path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
            paths.append(path)
        monkeypatch.setenv("KUBECONFIG", ":".join(map(str, paths)))
        return paths

    monkeypatch.setattr(connections, "_WAIT_SECONDS", 0.01)
    return used


def recorded(name: str) -> tuple[Snapshot, Training]:
    """A snapshot of a cluster in which a failure was caused, and the training in it."""
    snapshot = read_bundle(str(RECORDINGS / f"{name}.json"))
    (training,) = snapshot.trainings
    return snapshot, training
