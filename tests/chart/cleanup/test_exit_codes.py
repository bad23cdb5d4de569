"""The command's exit codes: the real client, HTTP and all, against a server of our own."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tf_cluster_cleanup import main
from tf_cluster_cleanup.decision import APPEAR_SECONDS, POLL_SECONDS

from tests.ports import free_port

PLAN = {
    "client": "chief",
    "jobs": ["worker"],
    "jobsAfterFailure": [],
    "completions": {"worker": 2},
    "deployments": ["ps-0"],
    "workersTimeoutSeconds": 0,
    "delaySeconds": {"success": 0, "failure": 0},
}
COMPLETE = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
RUNNING: dict[str, Any] = {"spec": {"completions": 2, "template": {}}, "status": {}}
SCALE: dict[str, Any] = {"kind": "Scale", "spec": {"replicas": 0}}
CHIEF = "GET /apis/batch/v1/namespaces/here/jobs/chief"
WORKER = "GET /apis/batch/v1/namespaces/here/jobs/worker"
CUT_WORKER = "PATCH /apis/batch/v1/namespaces/here/jobs/worker"
SCALE_PS = "PATCH /apis/apps/v1/namespaces/here/deployments/ps-0/scale"

Answer = int | dict[str, Any]


@dataclass
class ApiServer:
    """Answers each request as told: a status, or an object. What is told `once` comes first.

    404 to what it was not told.
    """

    port: int
    answers: dict[str, Answer] = field(default_factory=dict)
    once: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            question = f"{self.command} {self.path}"
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            told.asked.append(question)
            answer = told.once.pop(question, told.answers.get(question, 404))
            status = answer if isinstance(answer, int) else 200
            document = {"kind": "Status", "code": status, "message": f"answered {status}"}
            body = json.dumps(document if isinstance(answer, int) else answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PATCH = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        told = ApiServer(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield told
        server.shutdown()
        thread.join()


@pytest.fixture
def cleanup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], int]]:
    """Run the command against a port of this machine; its waits take no time."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=sleep, strftime=time.strftime, gmtime=time.gmtime
    )
    monkeypatch.setattr(main, "time", clock)
    handler = signal.getsignal(signal.SIGTERM)

    def run(port: int) -> int:
        config = {
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "x",
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        return main.main(["--plan", json.dumps(PLAN), "--namespace", "here"])

    yield run
    signal.signal(signal.SIGTERM, handler)


Cleanup = Callable[[int], int]
Captured = pytest.CaptureFixture[str]


def test_an_attempt_that_has_ended_is_exit_0(api: ApiServer, cleanup: Cleanup) -> None:
    api.answers = {CHIEF: COMPLETE, WORKER: RUNNING, CUT_WORKER: RUNNING, SCALE_PS: SCALE}

    assert cleanup(api.port) == 0
    assert [asked for asked in api.asked if asked.startswith("PATCH")] == [CUT_WORKER, SCALE_PS]


def test_an_attempt_that_never_came_is_exit_1(
    api: ApiServer, cleanup: Cleanup, capsys: Captured
) -> None:
    assert cleanup(api.port) == 1
    assert "Job chief never came" in capsys.readouterr().out
    assert len(api.asked) > APPEAR_SECONDS / POLL_SECONDS


def test_objects_that_are_gone_are_exit_0_and_said_to_be_gone(
    api: ApiServer, cleanup: Cleanup, capsys: Captured
) -> None:
    api.answers = {CHIEF: COMPLETE, WORKER: RUNNING}

    assert cleanup(api.port) == 0
    words = capsys.readouterr().out
    assert "Job worker gets 0 completions: it is no more, or may not" in words
    assert "gone already: ps-0" in words


def test_an_api_server_that_is_away_is_exit_1(cleanup: Cleanup, capsys: Captured) -> None:
    assert cleanup(free_port()) == 1
    assert "the API server can't be used" in capsys.readouterr().out


@pytest.mark.parametrize("forbidden", [CHIEF, WORKER, CUT_WORKER, SCALE_PS])
def test_what_it_may_not_do_is_exit_1_and_never_taken_for_gone(
    api: ApiServer, cleanup: Cleanup, capsys: Captured, forbidden: str
) -> None:
    api.answers = {CHIEF: COMPLETE, WORKER: RUNNING, CUT_WORKER: RUNNING, SCALE_PS: SCALE}
    api.answers[forbidden] = 403

    assert cleanup(api.port) == 1
    words = capsys.readouterr().out
    assert "the API server can't be used: answered 403" in words
    assert "gone" not in words and "never came" not in words


@pytest.mark.parametrize("status", [409, 500, 503])
def test_an_answer_that_is_an_error_once_is_asked_for_again(
    api: ApiServer, cleanup: Cleanup, status: int
) -> None:
    good = {CHIEF: COMPLETE, WORKER: RUNNING, CUT_WORKER: RUNNING, SCALE_PS: SCALE}
    api.answers = dict(good)
    api.once = dict.fromkeys(good, status)

    assert cleanup(api.port) == 0
    assert api.asked.count(CUT_WORKER) == api.asked.count(SCALE_PS) == 2


def test_every_line_is_a_record_if_asked(
    api: ApiServer, cleanup: Cleanup, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"RELEASE": "digits", "RUN": "1", "ATTEMPT": "1c3a5f70", "LOG_FORMAT": "json"}
    for name, value in known.items():
        monkeypatch.setenv(f"TF_CLUSTER_{name}", value)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # put back at the end
    api.answers = {CHIEF: COMPLETE, WORKER: RUNNING, CUT_WORKER: RUNNING, SCALE_PS: SCALE}

    assert cleanup(api.port) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "scaled to 0: ps-0" in [record["message"] for record in records]
    for record in records:
        assert record.pop("time").endswith("Z")
        assert record.pop("message")
        assert record == {
            **{"release": "digits", "run": "1", "attempt": "1c3a5f70", "severity": "INFO"},
            **{"task": "cleanup", "role": "cleanup"},
        }

    assert cleanup(free_port()) == 1
    (record,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()][-1:]
    assert (record["severity"], "can't be used" in record["message"]) == ("ERROR", True)


def test_a_log_format_that_is_not_known_is_exit_2(
    cleanup: Cleanup, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CLUSTER_LOG_FORMAT", "xml")
    assert cleanup(free_port()) == 2
    assert "TF_CLUSTER_LOG_FORMAT is 'xml', not text or json" in capsys.readouterr().out
