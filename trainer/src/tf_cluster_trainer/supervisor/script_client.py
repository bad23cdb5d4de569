"""The client of a script: what a chief's supervisor does, with a child that says nothing.

A script can't be told to wait, so its process is started when everything else is there: the other
tasks' supervisors, and the run, which is this attempt's by then. Its exit code is the task's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .. import exit_codes
from .chief import Chief
from .child_process import how_it_ended
from .document import DONE, FAILED, Outcome
from .peers import Peer
from .progress_file import read_progress
from .script_process import script_process


class ScriptClient(Chief):
    """The attempt's final state is made of the script's exit here."""

    working = "the script runs"

    _since: float = 0.0  # when the present process was started

    def _start_child(self) -> None:
        super()._start_child()
        self._ready = True
        if self._watch is not None:
            self._watch.hurry()

    def _launch(self, epoch: str) -> None:
        """Nothing is loaded beforehand."""

    def _let_go(self) -> None:
        self._child = script_process(self._number, self._config, self._environment, self._inbox)
        self._since = time.monotonic()

    def _watched(self) -> Sequence[Peer]:
        # A script may wait for ever for a worker that is gone.
        bound = f"{self._bound}-"
        return [peer for peer in self._peers if peer.task.startswith(bound)]

    def _on_replaced(self, task: str) -> None:
        self._kill_without(task)

    def _done_before(self) -> Outcome | None:
        """Whether the script of this very Job has ended well before: its pod was lost since."""
        told = read_progress(self._settings.run_dir) or {}
        job = (told.get("jobUids") or {}).get(self._config.task.type)
        here = (told.get("attempt"), job)
        if here != (self._config.cluster.attempt, self._config.task.job_uid):
            return None
        if told.get("status") != DONE:
            return None
        return Outcome(exit_codes.DONE, DONE, "the script has ended with exit code 0 before")

    def _on_end(self, returncode: int) -> Outcome | None:
        self._stop_asking()
        how = f"the script {how_it_ended(returncode)}"
        if self._ending is not None:
            self._log.say(how)
            return self._ending
        if returncode < 0:
            if time.monotonic() - self._since >= self._timing.steady:
                self._budget.refill()
            return self._start_again(self._failure or how)
        if returncode == exit_codes.DONE:
            return Outcome(exit_codes.DONE, DONE, how)
        return Outcome(exit_codes.of_script(returncode), FAILED, how)

    def _start_again(self, why: str) -> Outcome | None:
        if not self._budget.spend():
            words = f"given up after {self._budget.spent} restarts in a row (failure.restarts); "
            return Outcome(exit_codes.FAILED, FAILED, f"{words}the last time: {why}")
        self._log.say(
            f"{why}; starting it again ({self._budget.spent} of {self._settings.restarts})"
        )
        self._report.update(message=f"starting again: {why}")
        self._start_child()
        return None
