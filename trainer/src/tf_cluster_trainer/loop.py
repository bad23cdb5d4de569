"""The outer loop: keeps every worker busy, reports and saves while they work, stops in between.

It knows nothing of TensorFlow: a strategy gives it calls to queue and a tally to read.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from tf_cluster_trainer.loop_cadence import Cadence, Reporting
from tf_cluster_trainer.loop_pace import Pace
from tf_cluster_trainer.strategies.tally import Tally

POLL_SECONDS = 0.01
# With calls of a fixed size: how many to have queued or under way for each callee, so that none
# waits for the next look.
FIRST_WINDOW = 2
LAST_WINDOW = 256
# Reports and checkpoints by steps come when they are due, give or take this part.
CALLS_A_REPORT = 4


class Calls(Protocol):
    """What the loop needs of a strategy. Each raises the error of a call that failed."""

    def schedule(self, steps: int) -> None:
        """Queue one call of so many steps."""

    def outstanding(self) -> int:
        """Calls queued or under way."""

    def tally(self) -> Tally:
        """What was done so far."""

    def still(self) -> AbstractContextManager[None]:
        """While in it the variables are as after a whole step, where a strategy has such."""


@dataclass(frozen=True)
class Plan:
    """How far and in what pieces.

    `step` is where this start begins; `callees` is how many calls can be under way at once;
    `sharers` is how many loops like this one make the run's steps side by side;
    `steps_per_call` None: the loop finds how many are best.
    """

    step: int
    total: int
    steps_per_call: int | None
    callees: int
    report_seconds: float
    save_seconds: float
    save_steps: int | None
    sharers: int = 1


def run(
    plan: Plan,
    calls: Calls,
    *,
    stop: threading.Event,
    report: Callable[[Tally], None],
    save: Callable[[Tally], None],
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Make steps until the total is reached (True) or `stop` is set (False).

    Nothing here waits for the workers: with all of them gone it goes on looking, so that a stop is
    seen and a returned worker finds its calls. `report` and `save` are called between two looks,
    when they are due; the first report follows the first step.
    """
    scheduled = plan.step
    sizes: deque[int] = deque()  # of the calls that are queued or under way, in order
    pace = pace_of(plan, clock)
    window = FIRST_WINDOW * plan.callees
    reporting = Reporting(seconds=plan.report_seconds, step=plan.step, clock=clock)
    saving = Cadence(seconds=plan.save_seconds, steps=plan.save_steps, step=plan.step, clock=clock)
    while not stop.is_set():
        waiting = calls.outstanding()
        pace.made(sum(sizes.popleft() for _ in range(len(sizes) - waiting)))
        if scheduled >= plan.total and waiting == 0:
            step = calls.tally().step
            if step >= plan.total:
                return True
            scheduled = step  # a restored ps may know of fewer steps than were sent
        if plan.steps_per_call is None:
            window = pace.waiting()
        elif waiting < plan.callees and scheduled > plan.step:
            window = min(2 * window, LAST_WINDOW * plan.callees)
        while len(sizes) < window and scheduled < plan.total:
            steps = pace.next(plan.total - scheduled)
            calls.schedule(steps)
            scheduled += steps
            sizes.append(steps)
        step = scheduled - sum(sizes)  # without asking a ps
        if reporting.due(step):
            report(calls.tally())
            reporting.reset(step)
        if saving.due(step):
            with calls.still():
                save(calls.tally())
            saving.reset(step)
        stop.wait(POLL_SECONDS)
    return False


def pace_of(plan: Plan, clock: Callable[[], float]) -> Pace:
    """How many steps the calls of this plan make."""
    return Pace(
        fixed=plan.steps_per_call,
        callees=plan.callees,
        target=plan.report_seconds / CALLS_A_REPORT,
        most=None if plan.save_steps is None else max(1, plan.save_steps // plan.callees),
        clock=clock,
    )
