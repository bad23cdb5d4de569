"""The chief's loop: it keeps every worker busy, and reports and saves while they work.

It knows nothing of TensorFlow: a strategy gives it calls to queue and counters to read.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from tf_cluster_trainer.loop.cadence import Cadence, Reporting
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.plan import Plan, pace_of
from tf_cluster_trainer.loop.protocols import Calls

POLL_SECONDS = 0.01
# With calls of a fixed size: calls queued or under way for each running one, so that no worker
# waits for the next check.
FIRST_WINDOW = 2
LAST_WINDOW = 256


def run(
    plan: Plan,
    calls: Calls,
    *,
    stop: threading.Event,
    report: Callable[[TrainingCounters], None],
    save: Callable[[TrainingCounters], None],
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Make steps until the total is reached (True) or `stop` is set (False).

    The loop never waits for the workers. With all of them gone it keeps checking, so that it sees a
    stop and a returned worker finds its calls. It calls `report` and `save` when they are due; the
    first report follows the first step.
    """
    scheduled = plan.step
    sizes: deque[int] = deque()  # of the calls that are queued or under way, in order
    pace = pace_of(plan, clock)
    window = FIRST_WINDOW * plan.max_in_flight
    reporting = Reporting(seconds=plan.report_seconds, step=plan.step, clock=clock)
    saving = Cadence(seconds=plan.save_seconds, steps=plan.save_steps, step=plan.step, clock=clock)
    while not stop.is_set():
        waiting = calls.outstanding()
        pace.made(sum(sizes.popleft() for _ in range(len(sizes) - waiting)))
        if scheduled >= plan.total and waiting == 0:
            step = calls.counters().step
            if step >= plan.total:
                return True
            scheduled = step  # a restored ps may know of fewer steps than were sent
        if plan.steps_per_call is None:
            window = pace.waiting()
        elif waiting < plan.max_in_flight and scheduled > plan.step:
            window = min(2 * window, LAST_WINDOW * plan.max_in_flight)
        while len(sizes) < window and scheduled < plan.total:
            steps = pace.next(plan.total - scheduled)
            calls.schedule(steps)
            scheduled += steps
            sizes.append(steps)
        step = scheduled - sum(sizes)  # without asking a ps
        if reporting.due(step):
            report(calls.counters())
            reporting.reset(step)
        if saving.due(step):
            with calls.quiesced():
                save(calls.counters())
            saving.reset(step)
        stop.wait(POLL_SECONDS)
    return False
