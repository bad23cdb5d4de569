"""What between-graph replication and all-reduce share: every worker makes its own steps."""

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


Join = Callable[[Joining], TrainingWorker]
