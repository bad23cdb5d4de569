"""What a step costs when an embedding's table is a hundred times as large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.rates import COMBINATIONS, REPORT, in_turn
from tests.bench.rows import Ratio, at_most

PAIRS = 9
LARGE, SMALL = 2_000_000, 20_000
NAMES = (f"{LARGE:,} rows", f"{SMALL:,} rows")


def large_against_small(name: str) -> Measure:
    """Adam, of which TensorFlow's own writes the whole table in each step."""
    settings = COMBINATIONS[name].settings

    def take(count: int) -> Iterator[Sample]:
        for rates in in_turn(
            lambda: Ours(document(LARGE, settings)),
            lambda: Ours(document(SMALL, settings)),
            count,
            names=NAMES,
            turns=3,
        ):
            yield {name: 1000 / rate for name, rate in rates.items()}

    row = Ratio(
        f"time of a step, {name}, Adam, an embedding of {NAMES[0]}", NAMES[1], at_most(1.2), NAMES
    )
    return Measure(take, PAIRS, 12, dict.fromkeys(NAMES, "ms"), [row])


def document(rows: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Params of a training whose model is hardly more than a table."""
    told = params(steps_per_call=10, report=REPORT, flags={"rows": rows}, **settings)
    told["program"]["module"] = "programs:Table"
    return told


MEASURES = {f"embedding-{name}": large_against_small(name) for name in COMBINATIONS}
