"""From the first process started to the first step."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.bench.hand_run import ByHand, Program
from tests.bench.measure import Measure
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import NAMES, in_pairs
from tests.bench.rates import COMBINATIONS, Combination, Start
from tests.bench.rows import Ratio, at_most


def start(name: str) -> Measure:
    """`tf-cluster run` as it is by default against the processes by hand.

    The first call of both makes one step: ours finds its K from there.
    """
    one = COMBINATIONS[name]
    document = params(steps_per_call=None, report=2.0, **one.settings)
    program = by_hand_of(one)
    return Measure(
        partial(
            in_pairs,
            lambda: _seconds(lambda: Ours(document)),
            lambda: _seconds(lambda: ByHand(program)),
        ),
        21,
        9,
        dict.fromkeys(NAMES, "s"),
        [
            Ratio(
                f"`tf-cluster run` to the first step, {name}",
                f"by hand: {one.by_hand_is}",
                at_most(1.15),
            )
        ],
    )


def by_hand_of(one: Combination) -> Program:
    """Its program by hand, one step a call and all tasks at once."""
    steps = None if one.by_hand.steps_per_call is None else 1
    return replace(one.by_hand, steps_per_call=steps, after_the_first=False)


def _seconds(begin: Start) -> float:
    with begin() as training:
        return training.wait_for_first_step() - training.began


MEASURES = {f"start-{name}": start(name) for name in COMBINATIONS}
