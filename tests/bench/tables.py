"""What a lookup table in `dataset` costs: sentences of words against the same of numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import in_pairs
from tests.bench.rates import COMBINATIONS, REPORT, SAMPLES, in_turn
from tests.bench.rows import Ratio, at_least, at_most

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("a table", "no table")
LOOKUPS = ("vocabulary", "none")  # of the program's flags, in that order
WHAT = "a model of text with a StaticVocabularyTable in `dataset`"
AGAINST = "the same without: its records hold rows, not words"
STARTS = 21


def rate(name: str) -> Measure:
    """Steps a second."""

    def take(count: int) -> Iterator[Sample]:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder)
            first, second = (
                partial(Ours, document(name, lookup, 10, REPORT), data=data) for lookup in LOOKUPS
            )
            yield from in_turn(first, second, count, names=NAMES)

    row = Ratio(f"steps/s, {name}, {WHAT}", AGAINST, at_least(0.9), NAMES)
    return Measure(take, SAMPLES, 20, dict.fromkeys(NAMES, "steps/s"), [row])


def start(name: str) -> Measure:
    """Seconds to the first step, for which the examples to shuffle among must be there."""

    def take(count: int) -> Iterator[Sample]:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder)

            def seconds(lookup: str) -> float:
                with Ours(document(name, lookup, None, 2.0), data=data) as training:
                    return training.wait_for_first_step() - training.began

            first, second = (partial(seconds, lookup) for lookup in LOOKUPS)
            yield from in_pairs(first, second, count, names=NAMES)

    row = Ratio(
        f"`tf-cluster run` to the first step, {name}, {WHAT}", AGAINST, at_most(1.11), NAMES
    )
    return Measure(take, STARTS, 12, dict.fromkeys(NAMES, "s"), [row])


def document(name: str, lookup: str, steps_per_call: int | None, report: float) -> dict[str, Any]:
    """Params of the model of text: two workers, two ps where there are any."""
    settings = COMBINATIONS[name].settings
    told = params(
        steps_per_call=steps_per_call,
        report=report,
        train={"batchSize": 128, "optimizer": {"name": "Adam", "learningRate": 0.01}},
        flags={"lookup": lookup},
        **settings,
    )
    if "ps" in told:
        told["ps"] = 2
    told["program"] = {"module": "tests.trainer.child.programs.text:Text", "path": str(ROOT)}
    return told


def _written(folder: str) -> Path:
    """The records and vocabularies, which TensorFlow writes: only who measures this loads it."""
    from tests.trainer.child.programs import text

    text.write(Path(folder))
    return Path(folder)


MEASURES = {f"table-rate-{name}": rate(name) for name in COMBINATIONS} | {
    f"table-start-{name}": start(name) for name in COMBINATIONS
}
