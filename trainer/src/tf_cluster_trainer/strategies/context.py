"""What every strategy gets."""

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
    """One start of a training: the configuration, the program, what its trial found.

    `restored` reads the checkpoint to resume from; it returns None for a new run, and for every
    task but the chief. It may take long, so a worker that needs the others connects first.
    `check_owner` raises NotOwnerError if another attempt owns the run. `lost` is called with the
    name of each lost task. `ctx` is the context that the program's hooks get.
    """

    config: Config
    program: Program
    ctx: Context
    trial: Trial
    restored: Callable[[], Checkpoint | None]
    check_owner: Callable[[], None]
    lost: Callable[[str], None]

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.config.cluster.size("worker")


Join = Callable[[StrategyContext], TrainingWorker]
