"""Whose child lives as long as one child of the client: design section 6's table of losses."""

from __future__ import annotations

from ..config import Settings
from .document import RUNNING, SAVING, STARTING, WAITING

BEFORE_TRAINING = (STARTING, WAITING)
WHILE_TRAINING = (RUNNING, SAVING)


def bound_to_the_client(settings: Settings) -> str:
    """The type of task whose child serves one epoch and is started afresh for the next.

    A ps, since variables of a client that is gone are never given back. With all-reduce every
    worker: a collective that has lost a member is of no use to the others. Nobody ("") for a script
    that is between-graph: it finds its variables on the ps by their names, and may have no other
    copy of them.
    """
    if settings.strategy == "all-reduce":
        return "worker"
    return "" if settings.script and settings.replication == "between-graph" else "ps"


def adopts(settings: Settings, task_type: str) -> tuple[str, ...]:
    """The client's statuses in which a fresh child is taken into its epoch.

    One that comes later has no part in it, as a rule: the client is about to lose the epoch. But
    between-graph clients restore what a restarted ps has lost by themselves, and go on.
    """
    if task_type == "ps" and settings.replication == "between-graph":
        return (*BEFORE_TRAINING, *WHILE_TRAINING)
    return BEFORE_TRAINING
