"""The evaluator: its child measures checkpoints beside a training that does not know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import exit_codes, protocol
from ..run_directory import evaluations, evaluator_claim
from . import probe
from .child_process import TalkingChild
from .document import DONE, FAILED, RUNNING, SUPERSEDED, WAITING, Outcome
from .follower import Follower


class EvaluatorTask(Follower):
    """Keeps a child while the attempt lasts, and lets it measure the last checkpoint of a run that
    is done. It is no peer of the training: nobody waits for it and it asks nothing but the chief's
    status. It ends with 0 when its attempt is over, whatever came of that.
    """

    starting = "loading the program"
    process = "the evaluating process"
    is_awaited = False
    in_vain = "no checkpoint can be expected"

    # Training is done: what this task ends with when its child is through, and the last step.
    _finishing: Outcome | None = None
    _last_step: int | None = None

    def run(self) -> int:
        """Do all of it. Raises PortTakenError before anything else is touched."""
        settings = self._config.settings
        try:
            probe.writable(settings.run_dir / evaluations.EVENTS, "log")
            probe.readable(settings.data_dir, "data")
            self._claim()
        except probe.UnusableError as unusable:
            outcome = Outcome(unusable.exit_code, FAILED, str(unusable))
            self._log.say(f"{unusable}\n{outcome.last_line}")
            return outcome.exit_code
        return super().run()

    def _claim(self) -> None:
        """From here on an evaluator of this attempt that is still there writes nothing."""
        settings, task = self._config.settings, self._config.task
        try:
            evaluator_claim.post(settings.run_dir, self._config.cluster.attempt, task.pod_uid)
        except OSError as error:
            path = settings.run_dir / evaluator_claim.EVALUATOR_FILE
            raise probe.unusable(path, "log", "write", error) from None

    def _given_up(self, returncode: int, why: str) -> Outcome | None:
        if returncode == exit_codes.NOT_OWNER:
            return Outcome(exit_codes.DONE, SUPERSEDED, why)
        return super()._given_up(returncode, why)

    def _start_child(self) -> None:
        super()._start_child()
        # The chief's name is a Service's, there from the beginning: no need to wait for the child.
        self._begin_to_ask()
        if self._finishing is not None:
            self._tell_last_step()

    def _tell_last_step(self) -> None:
        if isinstance(self._child, TalkingChild):
            self._child.finish(self._last_step)

    def _on_message(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Ready):
            self._serves(WAITING, "waiting for a checkpoint")
        elif isinstance(message, protocol.Phase) and message.status in (RUNNING, WAITING):
            self._show(status=message.status, message=message.message)
        elif isinstance(message, protocol.Evaluated):
            self._budget.refill()
            self._show(step=message.step, metrics=message.metrics, export=message.export)

    def _on_chief(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        if self._finishing is not None:
            return None
        over = self._is_over(chief, from_file=from_file)
        if over and chief.get("status", DONE) == DONE:
            return self._let_finish(chief)
        return self._end_with(chief, from_file=from_file) if over else None

    def _let_finish(self, chief: Mapping[str, Any]) -> Outcome | None:
        self._finishing = Outcome(exit_codes.DONE, DONE, "training is done, and all is evaluated")
        saved = chief.get("checkpointStep")
        self._last_step = saved if isinstance(saved, int) else None
        self._poll.stop()
        if self._child is not None:
            self._log.say("training is done: evaluating what is left")
            self._tell_last_step()
        elif self._is_evaluated():
            return self._finishing
        return None

    def _is_evaluated(self) -> bool:
        """Whether an evaluator before us has done it all: then no child is needed."""
        record = evaluations.read(self._config.settings.run_dir)
        done = record.evaluated(self._config.export_best)
        return self._last_step is not None and done >= self._last_step

    def _on_end(self, returncode: int) -> Outcome | None:
        if returncode == exit_codes.DONE and self._ending is None and self._finishing is not None:
            return self._finishing
        return super()._on_end(returncode)

    def _needs_the_chief(self) -> bool:
        return self._finishing is None

    def _turn(self) -> int:
        return 1
