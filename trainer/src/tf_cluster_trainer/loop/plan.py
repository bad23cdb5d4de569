"""How far a start trains, and in calls of what size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tf_cluster_trainer.loop.pace import Pace

# Reports and checkpoints by steps may be late by this part of their interval.
CALLS_A_REPORT = 4


@dataclass(frozen=True)
class Plan:
    """How far a start trains, and how.

    `step` is where this start begins. `steps_per_call` None: the loop finds the best number.
    `max_in_flight`: calls that run at once. `workers_sharing_steps`: workers, each with a loop like
    this one, that divide the remaining steps among themselves.
    """

    step: int
    total: int
    steps_per_call: int | None
    max_in_flight: int
    report_seconds: float
    save_seconds: float
    save_steps: int | None
    workers_sharing_steps: int = 1


def pace_of(plan: Plan, clock: Callable[[], float]) -> Pace:
    """Chooses how many steps each call of this plan makes."""
    return Pace(
        fixed=plan.steps_per_call,
        max_in_flight=plan.max_in_flight,
        target=plan.report_seconds / CALLS_A_REPORT,
        most=None if plan.save_steps is None else max(1, plan.save_steps // plan.max_in_flight),
        clock=clock,
    )
