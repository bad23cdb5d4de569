"""The status port: /healthz, /progress and /metrics of one task over plain HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tf_cluster_trainer.config import Config, Task
from tf_cluster_trainer.supervisor.rules.visits import Visits, with_job
from tf_cluster_trainer.supervisor.status.counts import NOTHING_COUNTED, Counts
from tf_cluster_trainer.supervisor.status.document import Document, as_bytes

LOOPBACK = ("127.", "localhost")


class PortTakenError(Exception):
    """The status port is taken; the message names it, its user and the fix. Exit code 2."""


@dataclass(frozen=True)
class Condition:
    """What /healthz shows beside the task's name and attempt, and what /metrics counts."""

    serving: bool
    epoch: str | None
    restarts: int
    counts: Counts = NOTHING_COUNTED


class Board:
    """What the port shows, and who has seen a final state. Threads share it under one lock."""

    def __init__(
        self,
        task: Task,
        document: Document,
        asked: Callable[[str, str], None] | None = None,
        on_failure: Callable[[str, str], None] | None = None,
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """`asked(attempt, epoch)` is called when a chief asks for our health and names them;
        `on_failure(task, why)` when a task has failed for good; `on_news()` when the chief's
        document has changed in a way that matters to us.
        """
        self._lock = threading.Lock()
        self._task = task.name
        self._pod = task.pod_uid
        self._document = document
        self._asked = asked
        self._on_failure = on_failure
        self._on_news = on_news
        self._condition = Condition(False, None, 0)
        self._visits = Visits()

    def show(self, document: Document, condition: Condition) -> None:
        """Show a new document; keep the Job UIDs that visitors have sent."""
        with self._lock:
            before = self._document
            self._document = replace(
                document,
                worker_uid=before.worker_uid or document.worker_uid,
                evaluator_uid=before.evaluator_uid or document.evaluator_uid,
            )
            self._condition = condition

    def document(self) -> Document:
        """The document as shown."""
        with self._lock:
            return self._document

    def healthz(self, attempt: str = "", epoch: str = "", *, news: bool = False) -> bytes:
        """The body of /healthz. A waiting chief names its attempt and epoch."""
        if news:
            self._on_news()
        if self._asked is not None and attempt and epoch:
            self._asked(attempt, epoch)
        with self._lock:
            document, condition = self._document, self._condition
        body = {
            "task": self._task,
            "pod": self._pod,
            "attempt": document.attempt,
            "serving": condition.serving,
            "epoch": condition.epoch,
            "restarts": condition.restarts,
        }
        return (json.dumps(body) + "\n").encode()

    def metrics(self) -> bytes:
        """The body of /metrics."""
        from tf_cluster_trainer.supervisor.status.metrics import (
            text,  # 25 ms that a start need not wait for
        )

        with self._lock:
            document, condition = self._document, self._condition
        return text(document, condition.serving, condition.counts)

    def failed(self, task: str, attempt: str, message: str) -> None:
        """Note that a task of our attempt has failed for good."""
        if self._on_failure is None or attempt != self.document().attempt:
            return
        with self._lock:
            self._visits = self._visits.knows_the_end(task)  # it won't come back to ask
        self._on_failure(task, message)

    def visited(self, task: str, job_uid: str) -> Document:
        """Return the document for a visitor; record the visitor's Job UID as the attempt's."""
        with self._lock:
            self._visits = self._visits.asked(task, job_uid, time.monotonic())
            self._document = with_job(self._document, self._visits, self._task, task)
            return self._document

    def know_no_other_job(self) -> None:
        """This attempt ends: take no Job for its own that has not asked yet."""
        with self._lock:
            self._visits = self._visits.before_the_end()

    def visits(self) -> Visits:
        """The tasks that have asked, and those that have seen the end."""
        with self._lock:
            return self._visits

    def has_visited(self, task: str) -> bool:
        """Whether a task has asked since visits were last forgotten."""
        return self.visits().has_asked(task, time.monotonic())

    def forget_visitors(self) -> None:
        """Forget the visitors: only tasks that ask from now on count as present."""
        with self._lock:
            self._visits = self._visits.forgotten()

    def left(self, task: str, document: Document) -> None:
        """Note that the visitor has this document, and so whether it has seen the end."""
        with self._lock:
            self._visits = self._visits.left(task, document)


class StatusServer(ThreadingTCPServer):
    """Serves a board until closed. (`http.server`'s own class would look up this host's name.)"""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024  # at news every task asks in the same moment

    def __init__(self, config: Config, board: Board) -> None:
        self.board = board
        task = config.task
        address = config.cluster.status[task.type][task.index]
        host, port = address.rsplit(":", 1)
        bound = host if host.startswith(LOOPBACK) else "0.0.0.0"
        try:
            super().__init__((bound, int(port)), _Visit)
        except OSError as error:
            raise PortTakenError(
                f"port {port} on {bound} can't be had ({error.strerror}): {task.name}'s status "
                f"server needs it (/status/{task.type}/{task.index} in cluster.json). "
                f"End what listens there (`ss -ltnp sport = :{port}` names it), or give this "
                "task another port"
            ) from None
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore visitors that hang up."""

    def close(self) -> None:
        """Stop serving."""
        self.shutdown()
        self.server_close()


class _Visit(BaseHTTPRequestHandler):
    server: StatusServer
    timeout = 5.0
    wbufsize = -1  # an answer is sent at once, not its head and then its body

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        board = self.server.board
        visitor = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if url.path == "/healthz":
            attempt, epoch = visitor.get("attempt", ""), visitor.get("epoch", "")
            body = board.healthz(attempt, epoch, news="news" in visitor)
            self._answer(body, "application/json")
        elif url.path == "/metrics":
            self._answer(board.metrics(), "text/plain; version=0.0.4; charset=utf-8")
        elif url.path == "/progress":
            if "failure" in visitor:
                task, attempt = visitor.get("task", ""), visitor.get("attempt", "")
                board.failed(task, attempt, visitor["failure"])
            document = board.visited(visitor.get("task", ""), visitor.get("job", ""))
            self._answer(as_bytes(replace(document, now=time.time())), "application/json")
            board.left(visitor.get("task", ""), document)
        else:
            with contextlib.suppress(OSError):
                self.send_error(404, "/healthz, /progress and /metrics are served here")

    def _answer(self, body: bytes, content_type: str) -> None:
        self.send_response_only(200)  # no Date, no Server: every task asks, and nobody reads them
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Log no visits: every task polls."""
