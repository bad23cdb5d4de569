"""evaluations.json as one start of an evaluator keeps it.

Another evaluator may still write while it is being replaced, so each write first merges what the
file has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tf_cluster_trainer.config import ExportBest
from tf_cluster_trainer.run_directory import evaluations
from tf_cluster_trainer.run_directory.evaluations import Evaluation, Record


class KeptEvaluations:
    """`best` is the best checkpoint so far by what is wanted, `evaluated` the last step that needs
    nothing more (-1: none).
    """

    def __init__(
        self, run_dir: Path, wanted: ExportBest | None, check_owner: Callable[[], None]
    ) -> None:
        """`check_owner` raises when this evaluator may write no more; it is asked last."""
        self._run_dir = run_dir
        self._wanted = wanted
        self._check_owner = check_owner
        self._record = evaluations.read(run_dir)
        self.best = self._record.best_by(wanted)
        self.evaluated = self._record.evaluated(wanted)

    def take_in(self) -> Record:
        """Merge what a late write of an earlier evaluator has put into the file; return the file's
        record.
        """
        there, wanted = evaluations.read(self._run_dir), self._wanted
        best = there.best_by(wanted)
        better = wanted and best and evaluations.is_better(best.value, self.best, wanted)
        if best and better and Path(best.export).is_dir():
            self.best = best
        self._record = self._record.over(there)
        return there

    def keep(self, step: int, metrics: dict[str, float]) -> None:
        """Record the measures of this step's checkpoint."""
        self.take_in()
        record = self._record.plus(Evaluation(step, time.time(), metrics), self.best)
        evaluations.write(self._run_dir, record, self._check_owner)
        self._record, self.evaluated = record, step

    def keep_all(self) -> None:
        """Write again what a late write of another evaluator has overwritten."""
        there = self.take_in()
        if len(self._record.evaluations) > len(there.evaluations):
            record = replace(self._record, best=self.best)
            evaluations.write(self._run_dir, record, self._check_owner)

    def is_better(self, value: float, wanted: ExportBest) -> bool:
        """Whether a value beats the best so far."""
        return evaluations.is_better(value, self.best, wanted)
