"""What a save of a large state costs: by the ps, through the chief, and as it once was.

`saves`: the model hardly trains, so the CPU that all tasks use while it saves is the save's. What
they use in the same time without a save is taken off.

`saves-lost` and `saves-sync`: it trains as fast as it can. Between two saves it makes so many steps
a second; what it makes less while it saves is lost.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.bench.earlier import BEFORE_LARGE_MODELS, sources
from tests.bench.link_table import step_at
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.rates import COMBINATIONS
from tests.bench.rows import Ratio, at_most
from tests.support.waiting import eventually

TABLE_ROWS = 3_000_000
GIB = TABLE_ROWS * 16 * 4 * 3 / (1 << 30)  # the table and Adam's two slots
PS = 2
SAVES = 2
EVERY_SECONDS = 10.0
FAST_EVERY_SECONDS = 14.0
REPORT_SECONDS = 0.5
SETTLED_SECONDS = 1.0  # after a save the old checkpoint is removed
LEAST_REST_SECONDS = 3.0
QUIET_SECONDS = 3.0
BEFORE = "before"
# By way, whether the ps mount the log volume. Before there was a choice, the chief copied it all.
WAYS = {"ps": True, "streamed": False, BEFORE: None}
WORDS = {"ps": "by the ps", "streamed": "streamed through the chief"}


@dataclass(frozen=True)
class Saved:
    """A save: when it was seen to be through, how long it and all before took, and their CPU."""

    seen: float
    seconds: float
    cpu: float


class Saving(Ours):
    """A training of a large table that saves in this way, again and again."""

    def __init__(self, way: str, program: str, name: str, every: float, **train: Any) -> None:
        self._way = way
        told: dict[str, Any] = params(
            flags={"rows": TABLE_ROWS},
            workers=1,
            **{**COMBINATIONS[name].settings, "ps": PS},
            **train,
        )
        told["program"]["module"] = f"programs:{program}"
        told["train"] |= {"batchSize": 1, "checkpoint": {"seconds": every, "keep": 1}}
        if way != BEFORE:
            told["extraValues"] = {"ps": {"logVolume": WAYS[way]}}
        with ExitStack() as stack:
            before = stack.enter_context(sources(BEFORE_LARGE_MODELS)) if way == BEFORE else None
            super().__init__(told, sources=before)
            self._stack = stack.pop_all()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._stack.close()

    def until(self, saves: int) -> Saved:
        """Wait for the save of this number."""
        address = self.status_address("chief-0")

        def through() -> float | None:
            count, seconds = _known(str(address), self._way)
            return seconds if count >= saves else None

        seconds = eventually("a save", through, 180, every=0.1)
        return Saved(time.time(), seconds, self.cpu())


def _take(
    measured: Callable[[str], Mapping[str, float]], ways: Sequence[str], count: int
) -> Iterator[Sample]:
    """What is `measured` of each way; another one begins each time."""
    for number in range(count):
        first = number % len(ways)
        yield {
            _column(way, what): value
            for way in (*ways[first:], *ways[:first])
            for what, value in measured(way).items()
        }


def _column(way: str, what: str) -> str:
    return f"{way}, {what}"


def _cost(way: str) -> Mapping[str, float]:
    """Seconds of a save, and CPU seconds of all tasks, for each GiB."""
    settings = {"steps_per_call": 1, "report": 5}
    with Saving(way, "Still", "in-graph-async", EVERY_SECONDS, **settings) as training:
        training.wait_for_all()
        training.until(1)
        time.sleep(SETTLED_SECONDS)
        before = training.cpu()
        time.sleep(QUIET_SECONDS)  # what is measured: so long without a save
        quiet = (training.cpu() - before) / QUIET_SECONDS
        first = training.until(1)
        last = training.until(1 + SAVES)
        cpu = last.cpu - first.cpu - quiet * (last.seen - first.seen)
        seconds = last.seconds - first.seconds
        return {"seconds": seconds / SAVES / GIB, "CPU": cpu / SAVES / GIB}


def _lost(name: str, way: str) -> Mapping[str, float]:
    """Steps that a save costs for each GiB, and the seconds that these take without one."""
    settings = {"steps_per_call": 10, "report": REPORT_SECONDS}
    with Saving(way, "Table", name, FAST_EVERY_SECONDS, **settings) as training:
        training.wait_for_all()
        before, after = training.until(1), training.until(2)
        rested = before.seen + SETTLED_SECONDS
        # Where it stands still, no report comes: the step between two is not known.
        began = after.seen - (after.seconds - before.seconds) - 1.2 * REPORT_SECONDS
        if began - rested < LEAST_REST_SECONDS:
            raise RuntimeError("it saves all the time: there is no rest to tell a save by")
        ended = after.seen + SETTLED_SECONDS
        eventually("a step after it", lambda: training.points()[-1].time > ended, every=0.1)
        points = training.points()
    at = partial(step_at, points)
    rate = (at(began) - at(rested)) / (began - rested)
    lost = (rate * (ended - began) - (at(ended) - at(began))) / GIB
    return {"steps": lost, "seconds": lost / rate}


def _known(address: str, way: str) -> tuple[float, float]:
    """How many checkpoints were saved this way, and the seconds of all of them."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
        text = page.read().decode()
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("way", BEFORE) == way
    }
    name = "tf_cluster_checkpoint_seconds"
    return found[f"{name}_count"], found[f"{name}_sum"]


def _row(way: str, words: str, what: str, limit: float) -> Ratio:
    """`words` of a way, which are its column `what`, against the same of before."""
    return Ratio(
        f"{words} of a save, for each GiB of state, {WORDS[way]}",
        f"commit {BEFORE_LARGE_MODELS[:7]}, which copies the state and then writes it",
        at_most(limit),
        (_column(way, what), _column(BEFORE, what)),
    )


def _units(ways: Sequence[str], units: Mapping[str, str]) -> Mapping[str, str]:
    """Of each way's columns."""
    return {_column(way, what): unit for way in ways for what, unit in units.items()}


_STEPS_LOST = "in-graph-async, steps lost because"
_STANDING = "in-graph-sync, seconds that stand still because"
MEASURES = {
    "saves": Measure(
        partial(_take, _cost, [*WAYS]),
        9,
        18,
        _units([*WAYS], {"seconds": "s", "CPU": "s"}),
        [
            _row("ps", "seconds", "seconds", 0.35),
            _row("streamed", "seconds", "seconds", 0.5),
            _row("ps", "CPU", "CPU", 0.5),
            _row("streamed", "CPU", "CPU", 0.5),
        ],
    ),
    "saves-lost": Measure(
        partial(_take, partial(_lost, "in-graph-async"), [*WAYS]),
        9,
        20,
        _units([*WAYS], {"steps": "", "seconds": "s"}),
        [
            _row("ps", _STEPS_LOST, "steps", 0.25),
            _row("streamed", _STEPS_LOST, "steps", 0.4),
        ],
    ),
    "saves-sync": Measure(
        partial(_take, partial(_lost, "in-graph-sync"), ["ps", BEFORE]),
        9,
        13,
        _units(["ps", BEFORE], {"steps": "", "seconds": "s"}),
        [_row("ps", _STANDING, "seconds", 1)],
    ),
}
