"""helm install to the answer of a notebook's first cell, through its NodePort.

A sample is a new release of the example of an interactive cluster: its log claim is new, too.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

import websocket

from tests.bench.install import CHART, IMAGE, epoch, gone, namespace
from tests.bench.measure import Measure, Sample
from tests.bench.origin import ROOT
from tests.bench.rows import Bar, Figure
from tests.cluster.kubernetes import CommandError, Namespace, Release, address_of
from tests.support.waiting import eventually

EXAMPLE = ROOT / "values-examples" / "interactive.values.yaml"
TOKEN = "a-token-of-the-benchmark-alone"
SECRET = "token"


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    """Seconds of new releases, one after the other."""
    with namespace(kubeconfig) as there:
        there.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": SECRET},
                "stringData": {"token": TOKEN},
            }
        )
        for number in range(count):
            yield _sample(there, f"notebook{number}")


def _sample(there: Namespace, name: str) -> Sample:
    repository, _, tag = IMAGE.rpartition(":")
    release, began = Release(there, name, CHART), time.time()
    release.install(
        EXAMPLE,
        f"image.repository={repository}",
        f"image.tag={tag}",
        f"notebook.token.existingSecret={SECRET}",
    )
    host = _address(there, release)
    eventually("the server", lambda: _asked(host, "contents"), 120, every=0.1)
    answers = time.time()
    _execute(host)
    executed = time.time()
    deployment = release.one("deployment", "notebook")["metadata"]["name"]
    first = there.kubectl("logs", f"deployment/{deployment}", "--timestamps").split()[0]
    release.uninstall()
    gone(there, f"app.kubernetes.io/instance={name}")
    return {"cell": executed - began, "start": answers - epoch(first)}


def _address(there: Namespace, release: Release) -> str:
    port = release.one("service", "notebook")["spec"]["ports"][0]["nodePort"]
    (node, *_) = json.loads(there.kubectl("get", "nodes", "--output=json"))["items"]
    return f"{address_of(node)}:{port}"


def _asked(host: str, path: str, body: bytes | None = None) -> Any:
    """What the server's API answers; None while it starts."""
    request = urllib.request.Request(
        f"http://{host}/api/{path}", body, {"Authorization": f"token {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise CommandError(f"{path}: {error.code}") from error
    except OSError:
        return None


def _execute(host: str) -> None:
    """A new kernel executes one cell. Raises CommandError where the cell fails."""
    kernel = _asked(host, "kernels", b"{}")["id"]
    socket = websocket.create_connection(
        f"ws://{host}/api/kernels/{kernel}/channels",
        header=[f"Authorization: token {TOKEN}"],
        timeout=60,
    )
    asked = uuid.uuid4().hex
    header = {"msg_id": asked, "msg_type": "execute_request", "session": asked, "username": ""}
    content = {"code": "1 + 1", "silent": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    try:
        socket.send(json.dumps({**message, "channel": "shell"}))
        while True:
            got = json.loads(socket.recv())
            if got["parent_header"].get("msg_id") == asked and got["msg_type"] == "execute_reply":
                break
    finally:
        socket.close()
    if got["content"]["status"] != "ok":
        raise CommandError(f"the cell failed: {got['content']}")


MEASURES = {
    "notebook": Measure(
        _take,
        9,
        5,
        {"cell": "s", "start": "s"},
        [
            Figure("`helm install` to the answer of a notebook's first cell", None, ("cell",)),
            Figure(
                "the same, less the start of its process until it answers",
                Bar("≤ 15 s", 15),
                ("cell",),
                ("start",),
            ),
        ],
        on_cluster=True,
    )
}
