"""From the first process started to the first step."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.hand_run import ByHand
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import compare
from tests.bench.rates import COMBINATIONS, Start
from tests.bench.rows import Row, at_most, ratio_row


def start(name: str, pairs: int) -> list[Row]:
    """`tf-cluster run` as it is by default against the processes by hand."""
    one = COMBINATIONS[name]
    document = params(steps_per_call=None, report=2.0, **one.settings)
    all_at_once = replace(one.by_hand, after_the_first=False)
    compared = compare(
        lambda: _seconds(lambda: Ours(document)),
        lambda: _seconds(lambda: ByHand(all_at_once)),
        pairs,
    )
    return [
        ratio_row(
            f"`tf-cluster run` to the first step, {name}",
            f"by hand: {one.by_hand_is}",
            at_most(1.15),
            compared,
        )
    ]


def _seconds(begin: Start) -> float:
    with begin() as training:
        return training.wait_for_first_step() - training.began
