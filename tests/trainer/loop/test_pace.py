"""How many steps a call makes, with callees that are arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from tf_cluster_trainer.loop.pace import TARGET_SECONDS, Pace, round_down
from tf_cluster_trainer.loop.plan import Plan, pace_of


class Callees:
    """Calls that cost `call` seconds and `step` seconds a step, on a clock of their own."""

    def __init__(self, call: float, step: float, callees: int) -> None:
        self.call, self.step, self.callees = call, step, callees
        self.now = 0.0

    def rate(self, pace: Pace, seconds: float) -> float:
        """Steps a second when every callee makes the pace's calls for so long."""
        made, began = 0, self.now
        while self.now - began < seconds:
            steps = pace.next(10**9)
            self.now += self.call + steps * self.step
            made += steps * self.callees
            pace.made(steps * self.callees)
        return made / (self.now - began)


def pace(
    callees: Callees, *, fixed: int | None = None, target: float = 0.5, most: int | None = None
) -> Pace:
    return Pace(
        fixed=fixed,
        max_in_flight=callees.callees,
        target=target,
        most=most,
        clock=lambda: callees.now,
    )


@pytest.mark.parametrize("number", [1, 2, 16])
@pytest.mark.parametrize("step", [0.0005, 0.01, 0.2])
@pytest.mark.parametrize("call", [0.002, 0.02])
def test_it_is_about_as_fast_as_the_best_fixed_size(call: float, step: float, number: int) -> None:
    best = 0.0
    for fixed in (1, 10, 100, 1000):
        callees = Callees(call, step, number)
        best = max(best, callees.rate(pace(callees, fixed=fixed), 60))
    callees = Callees(call, step, number)
    adapting = pace(callees)
    callees.rate(adapting, 10)
    assert callees.rate(adapting, 60) >= 0.9 * best


@pytest.mark.parametrize("step", [0.0005, 0.01])
def test_a_call_takes_no_longer_than_its_target(step: float) -> None:
    callees = Callees(0.002, step, 2)
    adapting = pace(callees, target=0.2)
    callees.rate(adapting, 10)
    assert adapting.next(10**9) * step <= 0.2


def test_it_follows_a_run_that_becomes_slow() -> None:
    callees = Callees(0.002, 0.0005, 2)
    adapting = pace(callees)
    callees.rate(adapting, 10)
    assert adapting.next(10**9) >= 500
    callees.step = 1.0
    callees.rate(adapting, 2000)
    assert adapting.next(10**9) == 1


def test_it_goes_no_further_than_the_checkpoints_cadence() -> None:
    callees = Callees(0.002, 0.0005, 1)
    adapting = pace(callees, most=30)
    callees.rate(adapting, 10)
    assert adapting.next(10**9) == 20


@pytest.mark.parametrize(
    ("told", "longest"),
    [
        pytest.param({}, TARGET_SECONDS, id="neither"),
        pytest.param({"report_seconds": 0.4}, 0.1, id="four calls a report"),
        pytest.param({"save_steps": 60}, 30 * 0.0005, id="a call of each worker a checkpoint"),
    ],
)
def test_a_plans_calls_are_as_long_as_its_reports_and_checkpoints_let_them(
    told: dict[str, Any], longest: float
) -> None:
    callees = Callees(0.002, 0.0005, 2)
    cadence = {"report_seconds": 10.0, "save_seconds": 600.0, "save_steps": None}
    plan = Plan(step=0, total=10**9, steps_per_call=None, max_in_flight=2, **{**cadence, **told})
    adapting = pace_of(plan, lambda: callees.now)
    callees.rate(adapting, 10)
    assert longest / 4 < adapting.next(10**9) * callees.step <= longest


def test_towards_the_end_calls_get_shorter_and_never_empty() -> None:
    callees = Callees(0.002, 0.0005, 2)
    adapting = pace(callees)
    callees.rate(adapting, 10)
    sizes, remaining = [], 1000
    while remaining:
        sizes.append(adapting.next(remaining))
        remaining -= sizes[-1]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= 250
    assert len(sizes) < 40
    assert pace(callees, fixed=7).next(3) == 3


def test_short_calls_are_queued_in_larger_numbers() -> None:
    callees = Callees(0.002, 0.0005, 2)
    short = pace(callees, most=1)
    callees.rate(short, 10)
    assert short.waiting() >= 2 * 0.05 / 0.0026


@pytest.mark.parametrize(
    ("steps", "expected"), [(1, 1), (2, 2), (4, 2), (9, 5), (10, 10), (49, 20), (999, 500)]
)
def test_sizes_are_few(steps: int, expected: int) -> None:
    assert round_down(steps) == expected
