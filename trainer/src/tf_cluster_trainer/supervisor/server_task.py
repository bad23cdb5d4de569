"""The supervisor of a worker or a ps: keep a TensorFlow server running while the attempt lasts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import exit_codes, protocol
from ..config import Config
from .budget import Budget
from .chief_poll import ChiefPoll
from .child_process import ChildProcess, how_it_ended, reap_orphans
from .document import DONE, FAILED, RUNNING, STARTING, STOPPED, WAITING, Document, Outcome
from .events import ChiefSeen, ChildEnded, ChildSaid, Event, Inbox, StopAsked
from .final_state import ends
from .log import Log
from .report import first_document
from .status_server import Board, Condition, StatusServer
from .timing import Timing


class ServerTask:
    """One worker or ps, from start to exit code."""

    def __init__(
        self,
        config: Config,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
        timing: Timing,
    ) -> None:
        self._timing = timing
        self._config = config
        self._task = config.task
        self._command = command
        self._environment = environment
        self._inbox = inbox
        self._log = log
        self._budget = Budget(config.settings.restarts)
        self._document = self._first_document()
        self._board = Board(config.task.name, self._document, self._asked_by_the_chief)
        self._poll = ChiefPoll(config, inbox, timing)
        self._ending: Outcome | None = None
        self._kill_at: float | None = None
        self._start_at: float | None = None
        # The present child and what is known of it.
        self._number = 0
        self._child: ChildProcess | None = None
        self._serving_since: float | None = None
        self._replacing = False
        self._epoch: str | None = None
        self._failure: str | None = None

    def run(self) -> int:
        """Do all of it. Raises PortTakenError before anything else is touched."""
        server = StatusServer(self._config, self._board)
        try:
            # An attempt that is over needs no server: look before importing TensorFlow.
            outcome = self._on(self._poll.file())
            if outcome is None:
                self._start_child()
                outcome = self._until_the_end()
            self._show(status=outcome.status, message=outcome.message, exit_code=outcome.exit_code)
            self._log.say(outcome.last_line)
            return outcome.exit_code
        finally:
            self._poll.stop()
            server.close()

    def _asked_by_the_chief(self, attempt: str, epoch: str) -> None:
        # A chief asks only while it waits; it may find us before we find it.
        self._inbox.put(ChiefSeen({"attempt": attempt, "epoch": epoch, "status": WAITING}))

    def _first_document(self) -> Document:
        uid = self._task.job_uid or None
        return replace(
            first_document(self._config),
            worker_uid=uid if self._task.type == "worker" else None,
        )

    def _start_child(self) -> None:
        self._number += 1
        self._start_at = None
        self._serving_since = self._epoch = self._failure = None
        self._replacing = False
        self._show(status=STARTING, message="starting the TensorFlow server")
        self._child = ChildProcess(
            self._number, self._command, self._environment, "", self._inbox, self._log
        )

    def _until_the_end(self) -> Outcome:
        while True:
            event = self._inbox.next(self._timing.tick)
            reap_orphans(self._child.pid if self._child else None)
            outcome = self._on(event)
            if outcome is not None:
                return outcome
            now = time.monotonic()
            if self._child is not None and self._kill_at is not None and now >= self._kill_at:
                self._kill_at = None
                self._child.kill()
            if self._start_at is not None and now >= self._start_at:
                self._start_child()

    def _on(self, event: Event | None) -> Outcome | None:
        if isinstance(event, StopAsked):
            message = "stopped by SIGTERM"
            return self._end_child(Outcome(exit_codes.STOPPED, STOPPED, message))
        if isinstance(event, ChiefSeen) and event.document is not None:
            if self._task.type == "ps":
                self._follow(event.document)
            elif ends(
                event.document,
                self._config.cluster.attempt,
                self._task.job_uid,
                from_file=event.from_file,
            ):
                message = f"the attempt is over: {event.document.get('message')}"
                return self._end_child(Outcome(exit_codes.DONE, DONE, message))
        elif isinstance(event, ChildSaid) and event.child == self._number:
            if isinstance(event.message, protocol.Serving):
                self._serving_since = time.monotonic()
                self._poll.begin()
                self._show(status=RUNNING, message="serving")
            elif isinstance(event.message, protocol.Failure):
                self._failure = event.message.message
        elif isinstance(event, ChildEnded) and event.child == self._number:
            self._child = None
            return self._on_end(event.returncode)
        return None

    def _end_child(self, outcome: Outcome) -> Outcome | None:
        """End the child, then this supervisor; the first reason stands."""
        if self._ending is None:
            self._ending = outcome
            self._kill_at = time.monotonic() + self._timing.grace
            if self._child is not None:
                self._child.terminate()
        return self._ending if self._child is None else None

    def _on_end(self, returncode: int) -> Outcome | None:
        served = self._serving_since
        self._serving_since = self._epoch = None
        if self._ending is not None:
            return self._ending
        if self._replacing:
            self._start_child()
            return None
        why = self._failure or f"the server process {how_it_ended(returncode)}"
        if returncode == exit_codes.CONFIG:
            return Outcome(exit_codes.CONFIG, FAILED, why)
        if served is not None and time.monotonic() - served >= self._timing.steady:
            self._budget.refill()
        if not self._budget.spend():
            message = f"given up after {self._budget.spent} restarts in a row; the last time: {why}"
            return Outcome(exit_codes.FAILED, FAILED, message)
        delay = _delay(self._budget.spent, self._timing.backoff)
        self._log.say(f"{why}; starting it again in {delay:g} s")
        self._start_at = time.monotonic() + delay
        self._show(status=STARTING, message=f"starting again: {why}")
        return None

    def _follow(self, chief: Mapping[str, Any]) -> None:
        """Serve the chief's present child and no other.

        A server is taken into an epoch only before the chief has begun it. One that comes later
        has no variables of that epoch: the chief is about to lose it and to start another.
        """
        epoch = chief.get("epoch")
        if chief.get("attempt") != self._config.cluster.attempt or not isinstance(epoch, str):
            return
        if self._child is None or self._ending is not None or self._replacing:
            return
        if self._epoch is None and chief.get("status") in (STARTING, WAITING):
            self._epoch = epoch
            self._show()
        elif self._epoch is not None and self._epoch != epoch:
            self._log.say(
                "the chief has started again: giving back the variables of the one before"
            )
            self._replacing = True
            self._serving_since = None
            self._show(status=STARTING, message="starting afresh for the chief's new process")
            # Killed, not asked: nothing here is worth saving, and the chief waits.
            self._child.kill()

    def _show(self, **changes: Any) -> None:
        restarts = max(0, self._number - 1)
        self._document = replace(
            self._document, now=time.time(), epoch=self._epoch, restarts=restarts, **changes
        )
        serving = self._serving_since is not None
        self._board.show(self._document, Condition(serving, self._epoch, restarts))


def _delay(restarts: int, backoff: float) -> float:
    """Seconds before this restart in a row: 0, then 1, 2, 4, 8, 8 … times the backoff."""
    return 0.0 if restarts <= 1 else backoff * float(2 ** min(restarts - 2, 3))
