"""What between-graph replication and all-reduce share: every worker makes its own steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import Trial
from tf_cluster_trainer.strategies.tally import Tally


@dataclass(frozen=True)
class Joining:
    """What a worker brings to the cluster.

    `restored` reads the checkpoint to go on from; None for a new run, and for all but the client
    (worker 0). It may take long: whoever needs the others first connects, then reads. `lost` is
    told the name of each task that is lost.
    """

    told: Config
    program: Program
    ctx: Context
    trial: Trial
    restored: Callable[[], Checkpoint | None]
    lost: Callable[[str], None]


class Trainee(Protocol):
    """One worker's part in the training. Every method raises what ends the task."""

    def devices(self) -> Mapping[str, str]:
        """Where every trainable variable is, by the variable's name."""

    def origin(self) -> ResumePoint:
        """Where this start began; asked of the client alone."""

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make up to `most` steps, never beyond the run's total as far as this worker can tell.

        `stop` says that this task was asked to end. False: nobody goes on, the run is at its total
        or some task was asked to end. Where workers move in lockstep all get the same answer.
        """

    def made(self) -> int:
        """Steps that this worker is known to have made in the state as it is now."""

    def tally(self) -> Tally:
        """What the run has done so far; asked of the client alone."""

    def copy(self) -> Mapping[str, Any]:
        """The full tensors of a checkpoint, by key, after a whole step; of the client alone."""

    def leave(self) -> None:
        """This worker makes no more steps; returns when no other needs it any longer."""

    def ended_by(self) -> Sequence[str]:
        """The tasks whose being asked to end ended the steps of all."""


Join = Callable[[Joining], Trainee]
