"""Steps a second of a model that is a table of 1 GB: ours against loops by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.bench.hand_run import ByHand, Program
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import NAMES
from tests.bench.rates import COMBINATIONS, REPORT, in_turn
from tests.bench.rows import Ratio, at_least

BATCH, ROWS, WIDTH = 256, 4_000_000, 64  # of by_hand/table.py
MODEL = "table"
PAIRS, TURNS = 9, 3


def against_by_hand(name: str) -> Measure:
    """The same strategy, batch and K; Adagrad, which writes rows only by hand, too."""
    one = COMBINATIONS[name]
    ours, loop = document(name), by_hand(name)

    def take(count: int) -> Iterator[Sample]:
        yield from in_turn(lambda: Ours(ours), lambda: ByHand(loop), count, turns=TURNS)

    row = Ratio(
        f"steps/s, {name}, Adagrad, a table of 1 GB, K = {one.steps_per_call}",
        f"by hand: {one.by_hand_is}",
        at_least(0.97),
    )
    return Measure(take, PAIRS, 10, dict.fromkeys(NAMES, "steps/s"), [row])


def document(name: str) -> dict[str, Any]:
    """Params of ours; two workers and one ps, as by hand."""
    one = COMBINATIONS[name]
    told = params(
        steps_per_call=one.steps_per_call,
        report=REPORT,
        train={"batchSize": BATCH, "optimizer": {"name": "Adagrad", "learningRate": 0.01}},
        flags={"rows": ROWS, "width": WIDTH},
        **one.settings,
    )
    told["program"]["module"] = "programs:LargeTable"
    return told


def by_hand(name: str) -> Program:
    """That of the digits with this model."""
    loop = COMBINATIONS[name].by_hand
    return replace(loop, arguments=(MODEL, *loop.arguments[1:]))


MEASURES = {
    f"large-table-{name}": against_by_hand(name) for name in COMBINATIONS if name != "all-reduce"
}
