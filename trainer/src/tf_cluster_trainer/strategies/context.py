"""What every strategy is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.loop.protocols import TrainingWorker
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import Trial


@dataclass(frozen=True)
class StrategyContext:
    """One start of a training: the configuration, the program, what a trial of it has shown.

    `restored` reads the checkpoint to go on from; None for a new run, and for all but the chief.
    It may take long: a worker that needs the others first connects, then reads. `lost` is told the
    name of each task that is lost. Not to be taken for `ctx`, which the program is told.
    """

    config: Config
    program: Program
    ctx: Context
    trial: Trial
    restored: Callable[[], Checkpoint | None]
    lost: Callable[[str], None]

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.config.cluster.size("worker")


Join = Callable[[StrategyContext], TrainingWorker]
