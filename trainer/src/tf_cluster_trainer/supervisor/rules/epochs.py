"""When a child is taken into the epoch of the chief's child (docs/formats.md, "Epoch")."""

from __future__ import annotations

from tf_cluster_trainer.config import Settings
from tf_cluster_trainer.supervisor.status.document import RUNNING, SAVING, STARTING, WAITING

BEFORE_TRAINING = (STARTING, WAITING)
WHILE_TRAINING = (RUNNING, SAVING)


def adopts(settings: Settings, task_type: str) -> tuple[str, ...]:
    """The chief's statuses in which a fresh child is taken into its epoch.

    One that comes later has no part in it, as a rule: the chief is about to lose the epoch.
    """
    if task_type == "ps" and settings.combination.ps_rejoins:
        return (*BEFORE_TRAINING, *WHILE_TRAINING)
    return BEFORE_TRAINING
