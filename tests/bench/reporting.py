"""How much of the time goes into telling how far the training is, at the default cadence."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.rows import Bar, Figure
from tests.support.waiting import eventually

TIMED = Path(__file__).parent / "timed"
DEFAULT_REPORT_SECONDS = 2.0  # the chart's train.reportSeconds
SETTLED = 5.0  # K is being found: its calls, and reports, are not yet the usual ones
WINDOW, WINDOWS = 15.0, 2  # with one visit of a Prometheus server each
CHILD, SUPERVISOR, SUPERVISOR_CPU = (
    "training process, clock",
    "supervisor, clock",
    "supervisor, CPU",
)
WHAT = "time in progress, metrics and TensorBoard calls ÷ wall, in-graph-async, default cadence"
BAR = Bar("≤ 1 %", 1.0)


@dataclass(frozen=True)
class Spent:
    """Inside the watched functions of a process, by the clock and of CPU, and when it was told.

    In seconds; of a window in parts of it.
    """

    seconds: float
    cpu: float
    at: float = 0.0


def _take(count: int) -> Iterator[Sample]:
    """One start each, watched for some windows."""
    document = params(steps_per_call=None, report=DEFAULT_REPORT_SECONDS)
    for _ in range(count):
        with Ours(document, trainer=TIMED / "trainer.py") as training:
            training.wait_for_all()
            time.sleep(SETTLED)
            child, supervisor = _watched(training)
        yield {
            CHILD: 100 * child.seconds,
            SUPERVISOR: 100 * supervisor.seconds,
            SUPERVISOR_CPU: 100 * supervisor.cpu,
        }


def _watched(training: Ours) -> tuple[Spent, Spent]:
    """Parts of the wall time in the chief's child and supervisor."""
    before = {name: _spent(training.folder, name) for name in ("child", "supervisor")}
    address = training.status_address("chief-0")
    for _ in range(WINDOWS):
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            answer.read()
        time.sleep(WINDOW)
    child, supervisor = (
        _part(before[name], _spent(training.folder, name)) for name in ("child", "supervisor")
    )
    return child, supervisor


def _part(before: Spent, after: Spent) -> Spent:
    seconds = after.at - before.at
    return Spent((after.seconds - before.seconds) / seconds, (after.cpu - before.cpu) / seconds)


def _spent(folder: Path, name: str) -> Spent:
    file = folder / f"{name}.json"
    eventually(f"{file.name}", file.exists, 10)
    told = json.loads(file.read_text())
    return Spent(told["seconds"], told["cpu"], told["at"])


MEASURES = {
    "reporting": Measure(
        _take,
        15,
        14,
        dict.fromkeys((CHILD, SUPERVISOR, SUPERVISOR_CPU), "%"),
        [
            # The training process waits for its calls: they count by the clock. The supervisor's
            # are beside the training, which loses no more than the CPU they take; by the clock
            # most of theirs is time in which the training has both cores.
            Figure(
                f"{WHAT}: the training process' by the clock, its supervisor's of CPU",
                BAR,
                (CHILD, SUPERVISOR_CPU),
                against="the second definition, of commit `99436a5`: the bar was set for the first",
            ),
            Figure(
                f"{WHAT}: both processes by the clock",
                BAR,
                (CHILD, SUPERVISOR),
                against="the first definition",
            ),
        ],
    )
}
