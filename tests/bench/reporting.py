"""How much of the time goes into telling how far the training is, at the default cadence."""

from __future__ import annotations

import json
import statistics
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.bench.ours_run import Ours, params
from tests.bench.rows import Bar, Row, figure_row
from tests.cluster.waiting import eventually

TIMED = Path(__file__).parent / "timed"
DEFAULT_REPORT_SECONDS = 2.0  # the chart's train.reportSeconds
WINDOW = 15.0  # with one visit of a Prometheus server


@dataclass(frozen=True)
class Spent:
    """Inside the watched functions of a process, by the clock and of CPU, and when it was told.

    In seconds; of a window in parts of it.
    """

    seconds: float
    cpu: float
    at: float = 0.0


def reporting(samples: int) -> list[Row]:
    """One training, so many windows.

    The training process waits for its calls: they count by the clock. The supervisor's are beside
    the training, which loses no more than the CPU they take; their time by the clock is mostly
    that in which the training has both cores. It is told beside the figure.
    """
    found: list[tuple[Spent, Spent]] = []
    document = params(steps_per_call=None, report=DEFAULT_REPORT_SECONDS)
    with Ours(document, trainer=TIMED / "trainer.py") as training:
        training.wait_for_all()
        time.sleep(5)  # K is being found: its calls, and reports, are not yet the usual ones
        for number in range(samples):
            child, supervisor = _window(training)
            found.append((child, supervisor))
            words = f"child {child.seconds:.3%}, supervisor {_words(supervisor)}"
            print(f"  {number + 1}: {words}", file=sys.stderr, flush=True)
    supervisor = Spent(
        statistics.median(one.seconds for _, one in found),
        statistics.median(one.cpu for _, one in found),
    )
    return [
        figure_row(
            "time in progress, metrics and TensorBoard calls ÷ wall, in-graph-async, "
            "default cadence: the training process' by the clock, its supervisor's of CPU",
            Bar("≤ 1 %", 1.0),
            [100 * (child.seconds + supervisor.cpu) for child, supervisor in found],
            "%",
            f"the supervisor alone: {_words(supervisor)}",
        )
    ]


def _words(spent: Spent) -> str:
    return f"{spent.cpu:.2%} of CPU, {spent.seconds:.2%} by the clock"


def _window(training: Ours) -> tuple[Spent, Spent]:
    """Parts of the wall time in the chief's child and supervisor."""
    before = {name: _spent(training.folder, name) for name in ("child", "supervisor")}
    address = training.status_address("chief-0")
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
