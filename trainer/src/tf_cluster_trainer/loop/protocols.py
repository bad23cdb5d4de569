"""What the loops need of a strategy: calls to queue, or a worker that makes its own steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.loop.counters import TrainingCounters


class Calls(Protocol):
    """A training that the chief drives. Each raises the error of a call that failed."""

    def schedule(self, steps: int) -> None:
        """Queue one call of so many steps."""

    def outstanding(self) -> int:
        """Calls queued or under way."""

    def counters(self) -> TrainingCounters:
        """What was done so far."""

    def quiesced(self) -> AbstractContextManager[None]:
        """While in it the variables are as after a whole step, where a strategy has such."""


class TrainingWorker(Protocol):
    """One worker's part in the training. Every method raises what ends the task."""

    def devices(self) -> Mapping[str, str]:
        """Where every trainable variable is, by the variable's name."""

    def resume_point(self) -> ResumePoint:
        """Where this start began; asked of the chief alone."""

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make up to `most` steps, never beyond the run's total as far as this worker can tell.

        `stop` says that this task was asked to end. False: nobody goes on, the run is at its total
        or some task was asked to end. Where workers move in lockstep all get the same answer.
        """

    def made(self) -> int:
        """Steps that this worker is known to have made in the state as it is now."""

    def counters(self) -> TrainingCounters:
        """What the run has done so far; asked of the chief alone."""

    def copy(self) -> Mapping[str, Any]:
        """The full tensors of a checkpoint, by key, after a whole step; of the chief alone."""

    def leave(self) -> None:
        """This worker makes no more steps; returns when no other needs it any longer."""

    def ended_by(self) -> Sequence[str]:
        """The tasks whose being asked to end ended the steps of all."""
