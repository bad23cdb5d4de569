"""Exports a model of a run with all that a server and a person need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer.checkpoint.export import About, export
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.example_batch import example_batch
from tf_cluster_trainer.program.signatures import more_signatures


class Exporter:
    """Exports models of one program; it reads the example batch once."""

    def __init__(self, program: Program, ctx: Context, features: Any) -> None:
        self._program = program
        self._ctx = ctx
        self._features = features
        self._batch: Any = None
        self._asked = False

    def export(
        self,
        model: Any,
        step: int,
        metrics: Mapping[str, float],
        directory: Path,
        check_owner: Callable[[], None],
    ) -> Path:
        """Write the next version of a plain model with the weights of this step, and return it.

        `metrics` are what `evaluate` gave for it. Raises as `checkpoint.export` does, and
        ProgramError if the program's own signatures are wrong.
        """
        check_owner()  # before the program's data is read, which may take a while
        if not self._asked:
            self._asked = True
            self._batch = example_batch(self._program, self._ctx)
        settings = self._ctx.settings
        return export(
            model,
            self._features,
            About(settings.run_name, settings.run_id, step, metrics or None),
            directory,
            check_owner=check_owner,
            batch=self._batch,
            more=more_signatures(self._program, self._ctx, model),
        )
