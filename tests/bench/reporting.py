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
    """Seconds inside the watched functions of a process, and when that was told."""

    seconds: float
    at: float


def reporting(samples: int) -> list[Row]:
    """One training, so many windows. The chief's two processes are added up."""
    parts: list[tuple[float, float]] = []
    document = params(steps_per_call=None, report=DEFAULT_REPORT_SECONDS)
    with Ours(document, trainer=TIMED / "trainer.py") as training:
        training.wait_for_all()
        time.sleep(5)  # K is being found: its calls, and reports, are not yet the usual ones
        for number in range(samples):
            child, supervisor = _window(training)
            parts.append((child, supervisor))
            words = f"child {child:.3%}, supervisor {supervisor:.3%}"
            print(f"  {number + 1}: {words}", file=sys.stderr, flush=True)
    both = [100 * (child + supervisor) for child, supervisor in parts]
    split = ", ".join(
        f"{name} {statistics.median(of) * 100:.2g} %"
        for name, of in zip(
            ("training process", "supervisor"), zip(*parts, strict=True), strict=True
        )
    )
    return [
        figure_row(
            "time in progress, metrics and TensorBoard calls ÷ wall, in-graph-async, "
            f"default cadence ({split})",
            Bar("≤ 1 %", 1.0),
            both,
            "%",
        )
    ]


def _window(training: Ours) -> tuple[float, float]:
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


def _part(before: Spent, after: Spent) -> float:
    return (after.seconds - before.seconds) / (after.at - before.at)


def _spent(folder: Path, name: str) -> Spent:
    file = folder / f"{name}.json"
    eventually(f"{file.name}", file.exists, 10)
    told = json.loads(file.read_text())
    return Spent(told["seconds"], told["at"])
