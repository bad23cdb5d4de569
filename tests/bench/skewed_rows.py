"""Bytes that a step of an embedding moves, where a few ids are in each batch many times.

A step has to read each row that its batch names once, and to send its gradient once: two rows of
floats for each distinct id. Bytes are counted at the worker's link, headers and all, and do not
depend on what else runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.bench.link_table import looked_at, settled, step_at
from tests.bench.links_run import OursOnLinks
from tests.bench.measure import Measure, Sample
from tests.bench.ours.programs import SkewedFlags, skewed_ids
from tests.bench.ours_run import params
from tests.bench.rates import COMBINATIONS
from tests.bench.rows import Bar, Figure

STEPS = 600
FLAGS = SkewedFlags()
MOVED = "bytes a step, of two rows for each distinct id"


def _take(settings: dict[str, Any], count: int) -> Iterator[Sample]:
    """One start of one worker and two ps each."""
    for _ in range(count):
        with OursOnLinks(document(settings)) as training:
            looks = looked_at(training)
            points = training.points()
        inside = settled(points, looks)
        first, last = inside[0], inside[-1]
        moved = last.traffic["worker-0"].since(first.traffic["worker-0"])
        steps = step_at(points, last.time) - step_at(points, first.time)
        yield {MOVED: (moved.sent + moved.received) / steps / needed(FLAGS)}


def document(settings: dict[str, Any]) -> dict[str, Any]:
    """Its params."""
    train = {
        "steps": STEPS,
        "batchSize": FLAGS.batch,
        "optimizer": {"name": "Adagrad", "learningRate": 0.01},
    }
    told = params(steps_per_call=5, report=0.5, train=train, **settings)
    told["program"]["module"] = "programs:Skewed"
    return {**told, "workers": 1, "ps": 2}


def needed(flags: SkewedFlags) -> float:
    """Bytes that a step needs on the average of all batches."""
    batches = skewed_ids(flags).reshape(flags.batches, flags.batch)
    distinct = np.mean([len(np.unique(batch)) for batch in batches])
    return float(2 * distinct * flags.width * 4)


MEASURES = {
    f"skewed-rows-{name}": Measure(
        partial(_take, COMBINATIONS[name].settings),
        1,
        2,
        {MOVED: "×"},
        [
            Figure(
                f"bytes a step for each two rows of its distinct ids, {name}, ids by Zipf's law",
                Bar("≤ 1.2 ×", 1.2),
                (MOVED,),
                counted=True,
            )
        ],
    )
    for name in ("in-graph-async", "between-graph-async")
}
