"""Probes whether the far end of a session's connections still answers.

A task that is lost with its node closes no connection: a wait for its answer never ends, even in a
new session, which uses the same connections.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")
PERIOD_SECONDS = 2.0


class ConnectionProbe:
    """Asks now and then, in threads, because an answer may never come."""

    def __init__(
        self, ask: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ask` returns once there is an answer; it may raise."""
        self._ask = ask
        self._clock = clock
        self._asking: Future[object] | None = None
        self._asked_at = float("-inf")
        self._silent_since: float | None = None

    def silent_for(self) -> float:
        """Seconds since the first unanswered question in a row; 0 after an answer. Never waits."""
        now = self._clock()
        if self._asking is not None and self._asking.done():
            if self._asking.exception() is None:
                self._silent_since = None
            self._asking = None
        if self._asking is None and now - self._asked_at >= PERIOD_SECONDS:
            self._asked_at = now
            if self._silent_since is None:
                self._silent_since = now
            self._asking = in_thread(self._ask)
        return 0.0 if self._silent_since is None else now - self._silent_since

    def forget(self) -> None:
        """Ignore the answers to earlier questions."""
        self._asking = self._silent_since = None


def in_thread(call: Callable[[], Answer]) -> Future[Answer]:
    """Run the call in its own thread, which nobody has to wait for; return its future."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer
