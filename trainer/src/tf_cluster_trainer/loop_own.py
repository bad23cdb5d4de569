"""The loop of a worker that trains by itself; the client also reports and saves in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tf_cluster_trainer.errors import NotNowError
from tf_cluster_trainer.loop import Plan, pace_of
from tf_cluster_trainer.loop_cadence import Cadence, Reporting
from tf_cluster_trainer.loop_pace import Pace
from tf_cluster_trainer.strategies.tally import Tally
from tf_cluster_trainer.strategies.trainee import Trainee


def follow(
    plan: Plan, trainee: Trainee, stop: threading.Event, clock: Callable[[], float] = time.monotonic
) -> None:
    """Make steps until nobody goes on."""
    pace = pace_of(plan, clock)
    while _steps(plan, trainee, pace, stop):
        pass


def lead(
    plan: Plan,
    trainee: Trainee,
    *,
    stop: threading.Event,
    report: Callable[[Tally], None],
    save: Callable[[Tally], None],
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """The same for the client, with reports and saves when they are due; True at the total."""
    reporting = Reporting(seconds=plan.report_seconds, step=plan.step, clock=clock)
    saving = Cadence(seconds=plan.save_seconds, steps=plan.save_steps, step=plan.step, clock=clock)
    pace = pace_of(plan, clock)
    going = True
    while going:
        going = _steps(plan, trainee, pace, stop)
        step = trainee.tally().step
        if reporting.due(step):
            report(trainee.tally())
            reporting.reset(step)
        if saving.due(step) and going:
            try:
                save(trainee.tally())
            except NotNowError:
                continue  # between two steps, or when what was lost is back
            saving.reset(step)
    return trainee.tally().step >= plan.total


def _steps(plan: Plan, trainee: Trainee, pace: Pace, stop: threading.Event) -> bool:
    """One call, and what the pace learns from it: it may return before any step is made."""
    before = trainee.made()
    going = trainee.steps(pace.next(_share(plan, trainee)), stop=stop.is_set())
    pace.made(max(0, trainee.made() - before))
    return going


def _share(plan: Plan, trainee: Trainee) -> int:
    """This loop's part of the steps that are left: then the run ends about at its total."""
    return max(1, (plan.total - trainee.tally().step) // plan.sharers)
