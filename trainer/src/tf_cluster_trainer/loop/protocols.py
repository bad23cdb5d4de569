"""What the loops need from a strategy: calls to queue, or a worker that makes its own steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tf_cluster_trainer.checkpoint.pieces import State
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.loop.counters import TrainingCounters


class Calls(Protocol):
    """A training that the chief drives. Every method raises the error of a failed call."""

    def schedule(self, steps: int) -> None:
        """Queue one call of `steps` steps."""

    def outstanding(self) -> int:
        """The number of calls queued or running."""

    def counters(self) -> TrainingCounters:
        """The run's counters so far."""

    def quiesced(self) -> AbstractContextManager[None]:
        """Inside this context no step is half applied, if the strategy can ensure that."""


class TrainingWorker(State, Protocol):
    """One worker's part in the training. Every method raises what ends the task.

    Only the chief reads the run's state, after a whole step. `holds_state`: it is in this process'
    memory.
    """

    holds_state: bool

    def devices(self) -> Mapping[str, str]:
        """The device of every trainable variable, by the variable's name."""

    def ps_bytes(self) -> Mapping[str, int]:
        """Bytes of the state on each ps, by its name."""

    def resume_point(self) -> ResumePoint:
        """Where this start began. Only the chief calls it."""

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make up to `most` steps, not beyond the run's total as far as this worker knows.

        `stop`: this task was asked to end. Returns False if no worker continues: the run is at its
        total, or some task was asked to end. Workers in lockstep all get the same answer.
        """

    def made(self) -> int:
        """The known number of this worker's steps in the present state."""

    def counters(self) -> TrainingCounters:
        """The run's counters so far. Only the chief calls it."""

    def leave(self) -> None:
        """Make no more steps; return when no other worker needs this one."""

    def ended_by(self) -> Sequence[str]:
        """The tasks that were asked to end, which ended the steps of all."""
