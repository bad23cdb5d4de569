"""The end of a run after its last step: evaluate, export, after_train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.errors import HookError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.evaluate import measure
from tf_cluster_trainer.program.fill import fill_model
from tf_cluster_trainer.program.trial import Trial, build_filled
from tf_cluster_trainer.protocol import Result
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.held import holding, release_earlier


def result(
    program: Program,
    ctx: Context,
    trial: Trial,
    saved: Path,
    check_owner: Callable[[], None],
) -> Result:
    """Evaluate, export and call after_train with a plain model of the checkpoint in `saved`.

    The model computes in float32, whatever the training's precision. Raises HookError if a hook
    fails, NotOwnerError if another attempt owns the run, and OSError if the disk fails.
    """
    found = restore.described(saved)
    step = found.meta.step
    check_owner()
    with holding(ctx.run_dir, "client") as held:
        release_earlier(held)

        def fill(model: Any) -> None:
            with restore.verified():
                fill_model(model, trial.variables, found, held)

        with tf.device("CPU:0"):
            model = build_filled(program, ctx, trial.features, fill, precision.FULL)
        metrics = measure(program, ctx, model)
        directory = ctx.run_dir / layout.EXPORT
        exporter = Exporter(program, ctx, trial.features)
        path = exporter.export(model, step, metrics, directory, check_owner)
        log(f"exported step {step} to {path}")
        try:
            program.after_train(ctx, model)
        except Exception as error:
            raise HookError("after_train", error) from error
    return Result(step=step, metrics=metrics, export=str(path))
