"""Bytes that the chief and other tasks send each other, for each byte of a state.

In a run with one save, and in one that goes on from there. What a network volume moves is not in
it: here the volume is a disk of this machine.

Two runs of a table and two of one three times as large: what the larger one moves more is told
against what its state has more. They are counted, and do not depend on what else runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.embedding_size import document
from tests.bench.link_table import looked_at
from tests.bench.links_run import OursOnLinks
from tests.bench.measure import Measure, Sample
from tests.bench.rows import Bar, Figure
from tests.bench.state_memory import ROW_BYTES

ROWS = (1_500_000, 4_500_000)
STEPS = 40
WHAT = ("a run with one save", "a resume")
WAYS = {"by the ps": (True, 0.001), "streamed": (False, 1.05)}


class GoingOn(OursOnLinks):
    """The tasks of a training whose earlier runs are in a folder."""

    def __init__(self, told: dict[str, Any], runs: Path) -> None:
        self._runs = runs
        super().__init__(told)

    def _start(self, trainer: Path | None, data: Path | None) -> Any:
        shutil.copytree(self._runs, self.folder / "runs", dirs_exist_ok=True)
        return super()._start(trainer, data)


def _take(count: int) -> Iterator[Sample]:
    for _ in range(count):
        found = {}
        for way, (by_ps, _) in WAYS.items():
            small, large = (_moved(rows, by_ps=by_ps) for rows in ROWS)
            more = (ROWS[1] - ROWS[0]) * ROW_BYTES
            save, both = ((large[at] - small[at]) / more for at in (0, 1))
            found |= dict(zip((f"{what} {way}" for what in WHAT), (save, both - save), strict=True))
        yield found


def _moved(rows: int, *, by_ps: bool) -> tuple[int, int]:
    """By a run that saves at its end; and by one that goes on from there, and saves as well."""
    with TemporaryDirectory(prefix="tf-cluster-bench-") as folder:
        first = _run(_document(rows, STEPS, by_ps=by_ps), Path(folder), keep=True)
        again = _run(_document(rows, 2 * STEPS, by_ps=by_ps), Path(folder), began=STEPS)
        return first, again


def _run(told: dict[str, Any], runs: Path, *, keep: bool = False, began: int = 0) -> int:
    """Bytes of the chief from its start to its end; `runs`: of the earlier ones.

    `began`: the step of the checkpoint that it goes on from.
    """
    with GoingOn(told, runs) as training:
        traffic = looked_at(training)[-1].traffic["chief-0"]
        log = (training.run_dir.parent / "logs" / "chief-0.log").read_text()
        if began and f"going on from the checkpoint of step {began}\n" not in log:
            raise RuntimeError(f"it began afresh:\n{training.words()}")
        if keep:
            shutil.copytree(training.folder / "runs", runs, dirs_exist_ok=True)
    return traffic.sent + traffic.received


def _document(rows: int, steps: int, *, by_ps: bool) -> dict[str, Any]:
    told = document(rows, {"workers": 1, "ps": 2, "extraValues": {"ps": {"logVolume": by_ps}}})
    told["train"]["steps"] = steps
    return told


MEASURES = {
    "chief-bytes": Measure(
        _take,
        1,
        2,
        {f"{what} {way}": "×" for way in WAYS for what in WHAT},
        [
            Figure(
                f"bytes between the chief and other tasks for each byte of the state, {what} {way}",
                Bar(f"≤ {limit:g} ×", limit),
                (f"{what} {way}",),
                counted=True,
            )
            for way, (_, limit) in WAYS.items()
            for what in WHAT
        ],
    )
}
