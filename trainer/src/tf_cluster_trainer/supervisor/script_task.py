"""A script beside the client's: a worker, or a ps that runs the script too."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .. import exit_codes, protocol
from . import epochs
from .child_process import how_it_ended
from .document import FAILED, RUNNING, WAITING, Outcome
from .follower import Follower
from .script_process import script_process


class ScriptTask(Follower):
    """Starts its script when the client's runs, and ends it with the attempt.

    `serving` on the status port means here: it can start at any time. Where the task is bound to
    the client's epoch (epochs.py) it starts for one epoch, and afresh for the next.
    """

    starting = "starting"
    process = "the script"

    _runs_in: str | None = None  # the client's epoch when the present process was started
    _through_with: str | None = None  # the epoch whose script has ended well

    def _start_child(self) -> None:
        self._runs_in = self._through_with = None
        super()._start_child()

    def _launch(self) -> None:
        self._serves(WAITING, f"ready; waiting for {self._config.chief_type}-0 to begin")

    def _on_message(self, message: protocol.Message) -> None:
        """A script says nothing to a supervisor."""

    def _on_chief(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        if self._task.type != "ps" and self._is_over(chief, from_file=from_file):
            return self._end_with(chief, from_file=from_file)
        epoch = chief.get("epoch")
        ours = chief.get("attempt") == self._config.cluster.attempt
        # The file may be that of a pod that is gone: it lets nobody go.
        if from_file or not ours or not isinstance(epoch, str) or self._ending is not None:
            return None
        if self._through_with not in (None, epoch):
            self._log.say("the client has started again: there may be work left to do")
            self._start_child()
        status = chief.get("status")
        self._keep_up_with(epoch, status)
        if self._begins(epoch, status):
            self._begin(epoch)
        return None

    @property
    def _bound(self) -> bool:
        return self._config.settings.epoch_bound == self._task.type

    def _keep_up_with(self, epoch: str, status: Any) -> None:
        """Adopt the client's epoch while there is no process; end one of another epoch."""
        if not self._bound or self._replacing or epoch == self._epoch:
            return
        if self._child is not None:
            self._log.say("the client has started again: starting afresh with it")
            self._replacing = True
            self._serving_since = None
            # Killed, not asked: its part was lost with the client's process.
            self._child.kill()
        elif status in epochs.adopts(self._config.settings, self._task.type):
            self._epoch = epoch
            self._show()

    def _begins(self, epoch: str, status: Any) -> bool:
        waiting = self._serving_since is not None and self._runs_in is None
        ours = not self._bound or epoch == self._epoch
        return waiting and ours and status in epochs.WHILE_TRAINING

    def _begin(self, epoch: str) -> None:
        self._runs_in = epoch
        self._serving_since = time.monotonic()  # that it waited says nothing for it
        self._log.say(f"{self._config.chief_type}-0 has begun: starting the script")
        self._show(status=RUNNING, message="the script runs")
        self._child = script_process(self._number, self._config, self._environment, self._inbox)

    def _is_through(self, returncode: int) -> bool:
        if returncode != exit_codes.DONE:
            return False
        self._through_with = self._runs_in
        message = "the script is done here; waiting for the end of the attempt"
        self._log.say(message)
        self._show(status=WAITING, message=message)
        return True

    def _given_up(self, returncode: int, why: str) -> Outcome | None:
        if returncode < 0:
            return None  # it was lost, as any process can be
        return Outcome(exit_codes.of_script(returncode), FAILED, why)

    def _on_end(self, returncode: int) -> Outcome | None:
        if self._ending is not None:
            self._log.say(f"the script {how_it_ended(returncode)}")
        return super()._on_end(returncode)

    def _stop_grace(self) -> float:
        # What it saves is its own affair; a ps, or a worker that is driven, has nothing to save.
        return self._timing.save if self._config.trains else self._timing.grace
