"""The five combinations of strategy, replication and update: one row each.

Code that depends on the combination asks its row, and compares no names. The chart
(templates/_combinations.tpl) and the generator (expand/roles.py) have the columns that they need;
tests/chart/test_combinations.py holds the three tables together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TaskType = Literal["chief", "worker", "ps", "evaluator"]


@dataclass(frozen=True)
class Combination:
    """One combination of strategy, replication and update, and what follows from it."""

    strategy: str
    replication: str
    update: str
    module: str
    """The module of tf_cluster_trainer.strategies that trains."""
    has_chief: bool
    """A task `chief` drives the run; otherwise every worker trains, and worker 0 is the chief."""
    has_ps: bool
    lockstep: bool
    """All workers make each step together."""
    needed: tuple[TaskType, ...]
    """The types of tasks whose loss ends the chief's step."""
    epoch_bound: TaskType
    """The type of task whose child serves one child of the chief and restarts for the next."""
    ps_rejoins: bool
    """The workers fill a ps that restarts while they train; it adopts their epoch."""

    @property
    def name(self) -> str:
        """For messages: `parameter-server/in-graph/async`."""
        return f"{self.strategy}/{self.replication}/{self.update}"

    @property
    def chief_type(self) -> TaskType:
        """The type of the task that drives the run; its index is 0."""
        return "chief" if self.has_chief else "worker"

    @property
    def epoch_bound_script(self) -> TaskType | None:
        """`epoch_bound` for a run with a user's script; None: no task is bound.

        Without a task `chief` the ps are not bound: a script finds its variables there by name, and
        may have no other copy of them.
        """
        return self.epoch_bound if self.has_chief or not self.has_ps else None


COMBINATIONS = (
    Combination(
        strategy="parameter-server",
        replication="in-graph",
        update="async",
        module="in_graph.async_",
        has_chief=True,
        has_ps=True,
        lockstep=False,
        needed=("ps",),  # the calls of a lost worker go to the others
        epoch_bound="ps",  # variables of a chief that is gone are never given back
        ps_rejoins=False,
    ),
    Combination(
        strategy="parameter-server",
        replication="in-graph",
        update="sync",
        module="in_graph.sync",
        has_chief=True,
        has_ps=True,
        lockstep=True,
        needed=("ps", "worker"),
        epoch_bound="ps",
        ps_rejoins=False,
    ),
    Combination(
        strategy="parameter-server",
        replication="between-graph",
        update="async",
        module="between_graph.worker",
        has_chief=False,
        has_ps=True,
        lockstep=False,
        needed=("ps",),
        epoch_bound="ps",
        ps_rejoins=True,
    ),
    Combination(
        strategy="parameter-server",
        replication="between-graph",
        update="sync",
        module="between_graph.worker",
        has_chief=False,
        has_ps=True,
        lockstep=True,
        needed=("ps",),  # the other workers make the step of one that is lost
        epoch_bound="ps",
        ps_rejoins=True,
    ),
    Combination(
        strategy="all-reduce",
        replication="between-graph",
        update="sync",
        module="all_reduce.worker",
        has_chief=False,
        has_ps=False,
        lockstep=True,
        needed=("worker",),
        epoch_bound="worker",  # collectives that have lost a member are of no use to the others
        ps_rejoins=False,
    ),
)


def combination(strategy: str, replication: str, update: str) -> Combination | None:
    """The row of these three; None if they do not go together."""
    for row in COMBINATIONS:
        if (row.strategy, row.replication, row.update) == (strategy, replication, update):
            return row
    return None
