"""What a model of many small tables costs: a step of it sends many small tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.bench.hand_run import ByHand, Program
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import NAMES
from tests.bench.rates import REPORT, in_turn
from tests.bench.rows import Ratio, at_least
from tests.bench.training import costs_in_turn

BATCH = 256
STEPS_PER_CALL = 10
BY_HAND = Program("in_graph_async.py", ("columns",), STEPS_PER_CALL)


def document() -> dict[str, Any]:
    """Params of ours; two workers and one ps, as by hand."""
    train = {"batchSize": BATCH, "optimizer": {"name": "Adagrad", "learningRate": 0.01}}
    told = params(steps_per_call=STEPS_PER_CALL, report=REPORT, train=train)
    told["program"]["module"] = "programs:Columns"
    return told


def _take(count: int) -> Iterator[Sample]:
    ours = document()
    for costs in in_turn(
        lambda: Ours(ours), lambda: ByHand(BY_HAND), count, measured=costs_in_turn
    ):
        yield {name: BATCH / cost for name, cost in costs.items()}


MEASURES = {
    "columns": Measure(
        _take,
        9,
        11,
        dict.fromkeys(NAMES, "examples"),
        [
            Ratio(
                "examples for each second of CPU, in-graph-async, a click model of 26 tables",
                "by hand: ParameterServerStrategy, ClusterCoordinator",
                at_least(1.5),
            )
        ],
    )
}
