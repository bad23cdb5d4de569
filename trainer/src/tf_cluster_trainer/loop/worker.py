"""The loop of a worker that makes its own steps; the chief also reports and saves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tf_cluster_trainer.errors import NotNowError
from tf_cluster_trainer.loop.cadence import Cadence, Reporting
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.pace import Pace
from tf_cluster_trainer.loop.plan import Plan, pace_of
from tf_cluster_trainer.loop.protocols import TrainingWorker


def run_follower(
    plan: Plan,
    worker: TrainingWorker,
    stop: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Make steps until no worker continues."""
    pace = pace_of(plan, clock)
    while _steps(plan, worker, pace, stop):
        pass


def run_chief(
    plan: Plan,
    worker: TrainingWorker,
    *,
    stop: threading.Event,
    report: Callable[[TrainingCounters], None],
    save: Callable[[TrainingCounters], None],
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """The same for the chief, with reports and saves when due; True at the total."""
    reporting = Reporting(seconds=plan.report_seconds, step=plan.step, clock=clock)
    saving = Cadence(seconds=plan.save_seconds, steps=plan.save_steps, step=plan.step, clock=clock)
    pace = pace_of(plan, clock)
    going = True
    while going:
        going = _steps(plan, worker, pace, stop)
        step = worker.counters().step
        if reporting.due(step):
            report(worker.counters())
            reporting.reset(step)
        if saving.due(step) and going:
            try:
                save(worker.counters())
            except NotNowError:
                continue  # between two steps, or when what was lost is back
            saving.reset(step)
    return worker.counters().step >= plan.total


def _steps(plan: Plan, worker: TrainingWorker, pace: Pace, stop: threading.Event) -> bool:
    """Make one call and let the pace learn from it; it may return before any step is made."""
    before = worker.made()
    going = worker.steps(pace.next(_share(plan, worker)), stop=stop.is_set())
    pace.made(max(0, worker.made() - before))
    return going


def _share(plan: Plan, worker: TrainingWorker) -> int:
    """This worker's share of the remaining steps, so that the run ends near its total."""
    return max(1, (plan.total - worker.counters().step) // plan.workers_sharing_steps)
