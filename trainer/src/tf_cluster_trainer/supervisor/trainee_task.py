"""A worker that trains by itself beside worker 0, which is the chief."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import exit_codes, protocol
from . import epochs
from .child_process import TalkingChild
from .document import RUNNING, WAITING, Outcome
from .follower import Follower


class TraineeTask(Follower):
    """Lets its child go when the chief trains, and ends with the attempt.

    With all-reduce the child belongs to one epoch of the chief, as the server of a ps does.
    """

    starting = "starting the training process"
    process = "the training process"

    # Of the present child: whether it waits for Go or had it, and the chief's epoch at its Go.
    _ready = False
    _let_go_in: str | None = None
    # The epoch that a child was through with: another one needs a child again.
    _through_with: str | None = None

    def _start_child(self) -> None:
        self._ready = False
        self._let_go_in = self._through_with = None
        super()._start_child()

    def _on_message(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Ready):
            self._ready = True
            words = "ready; waiting for worker-0 to begin"
            self._log.say(words)  # it may wait for long
            self._serves(WAITING, words)

    def _on_chief(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        if self._is_over(chief, from_file=from_file):
            return self._end_with(chief, from_file=from_file)
        epoch = chief.get("epoch")
        ours = chief.get("attempt") == self._config.cluster.attempt
        # The file may be that of a pod that is gone: it lets nobody go.
        if from_file or not ours or not isinstance(epoch, str):
            return None
        self._refill_when_saved(chief)
        if self._through_with not in (None, epoch) and self._ending is None:
            self._log.say("the chief has started again: there may be steps left to make")
            self._start_child()
        self._keep_epoch(chief)
        self._let_go_when_due(epoch, chief.get("status"))
        return None

    def _refill_when_saved(self, chief: Mapping[str, Any]) -> None:
        saved = chief.get("checkpointStep")
        known = self._document.checkpoint_step
        if isinstance(saved, int) and (known is None or saved > known):
            self._budget.refill()
            self._show(checkpoint_step=saved)

    @property
    def _in_lockstep(self) -> bool:
        return self._config.settings.epoch_bound == self._task.type

    def _keep_epoch(self, chief: Mapping[str, Any]) -> None:
        if not self._in_lockstep:
            return
        if self._let_go_in is None and self._epoch not in (None, chief.get("epoch")):
            # A child that has not begun is as good for the next epoch.
            self._epoch = None
            self._show()
        super()._keep_epoch(chief)

    def _let_go_when_due(self, epoch: str, status: Any) -> None:
        if self._child is None or not self._ready or self._ending is not None:
            return
        training = status in epochs.WHILE_TRAINING
        ours = not self._in_lockstep or epoch == self._epoch
        if self._let_go_in is not None or not (training and ours):
            return
        self._let_go_in = epoch
        self._log.say("worker-0 trains: beginning")
        self._show(status=RUNNING, message="training")
        if isinstance(self._child, TalkingChild):
            self._child.go()

    def _is_through(self, returncode: int) -> bool:
        if self._let_go_in is None:
            return False
        if returncode == exit_codes.DONE:
            message = "done here; waiting for worker-0 to finish"
        elif returncode == exit_codes.STOPPED and self._in_lockstep:
            # Not asked by us: some worker was asked to end, so all of them ended at one step.
            message = "stopped with another worker; waiting for worker-0 to start again"
        else:
            return False
        self._through_with = self._let_go_in
        self._log.say(message)
        self._show(status=WAITING, message=message)
        return True

    def _stop_grace(self) -> float:
        # Workers in lockstep agree on the step to end at, and the chief saves it.
        return self._timing.save
