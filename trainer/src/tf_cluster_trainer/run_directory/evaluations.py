"""evaluations.json: what the evaluator measured of a run, and its best checkpoint so far.

Only the evaluator writes it. Imports no TensorFlow: the supervisor reads it too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_cluster_trainer.config import ConfigError, ExportBest, Mode
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.owner import replace_json

VERSION = 1


@dataclass(frozen=True)
class Evaluation:
    """The measures of the checkpoint of a step, at a time (seconds since 1970).

    A value that is not finite is None.
    """

    step: int
    time: float
    metrics: Mapping[str, float | None]


@dataclass(frozen=True)
class Best:
    """The best checkpoint so far by a metric, and the directory that its model was exported to."""

    metric: str
    mode: Mode
    step: int
    value: float
    export: str


@dataclass(frozen=True)
class Record:
    """The evaluations in the order of their steps, each step once, and the best."""

    evaluations: tuple[Evaluation, ...] = ()
    best: Best | None = None

    def plus(self, evaluation: Evaluation, best: Best | None) -> Record:
        """The record with one evaluation more; it replaces an older one of that step."""
        others = [one for one in self.evaluations if one.step != evaluation.step]
        return Record(tuple(sorted([*others, evaluation], key=lambda one: one.step)), best)

    def over(self, other: Record) -> Record:
        """Both records merged; this one's best and this one's evaluations take precedence."""
        by_step = {one.step: one for one in (*other.evaluations, *self.evaluations)}
        return Record(tuple(by_step[step] for step in sorted(by_step)), self.best)

    def best_by(self, wanted: ExportBest | None) -> Best | None:
        """The best so far, if it is by the wanted metric and mode."""
        best = self.best
        if wanted is None or best is None or (best.metric, best.mode) != _name(wanted):
            return None
        return best

    def evaluated(self, wanted: ExportBest | None) -> int:
        """The last step that needs no evaluation; -1: none.

        If the wanted metric or mode has changed, the checkpoints that are still there are evaluated
        again, because one of them may be the best.
        """
        if not self.evaluations or (wanted is not None and self.best_by(wanted) is None):
            return -1
        return self.evaluations[-1].step


def is_better(value: float, best: Best | None, wanted: ExportBest) -> bool:
    """Whether a value beats the best so far; the first of equals stays, and NaN never wins."""
    if not math.isfinite(value):
        return False
    if best is None:
        return True
    return value > best.value if wanted.mode == "max" else value < best.value


def read(run_dir: Path) -> Record:
    """Read the record; an empty one if there is no file. Raises ConfigError if it is no record."""
    path = run_dir / layout.EVALUATIONS
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Record()
    try:
        return _of(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not what an evaluator wrote ({error!r}): move it away, and the checkpoints "
            "that are there are evaluated again"
        ) from None


def write(run_dir: Path, record: Record, check: Callable[[], None] = lambda: None) -> None:
    """Write the whole record in place of the old one.

    Raises OSError, or what `check` raises, which is called last; the old record then stays.
    """
    best = record.best
    document = {
        "version": VERSION,
        "evaluations": [
            {
                "step": one.step,
                "time": one.time,
                "metrics": {name: _finite(value) for name, value in one.metrics.items()},
            }
            for one in record.evaluations
        ],
        "best": best
        and {
            "metric": best.metric,
            "mode": best.mode,
            "step": best.step,
            "value": best.value,
            "export": best.export,
        },
    }
    replace_json(run_dir / layout.EVALUATIONS, document, check=check)


def _of(document: Any) -> Record:
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']}, not {VERSION}")
    best = document["best"]
    return Record(
        tuple(
            Evaluation(int(one["step"]), float(one["time"]), dict(one["metrics"]))
            for one in document["evaluations"]
        ),
        best
        and Best(best["metric"], best["mode"], int(best["step"]), best["value"], best["export"]),
    )


def _name(wanted: ExportBest) -> tuple[str, str]:
    return wanted.metric, wanted.mode


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
