"""After the last step: evaluate, export, and the program's own last word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tf_cluster_trainer import checkpoint_variables
from tf_cluster_trainer.child.measuring import measure
from tf_cluster_trainer.context import Context
from tf_cluster_trainer.errors import HookError
from tf_cluster_trainer.export import export
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import Program
from tf_cluster_trainer.protocol import Result
from tf_cluster_trainer.strategies import precision
from tf_cluster_trainer.strategies.rehearsal import Rehearsal, build_model


def result(
    program: Program,
    ctx: Context,
    rehearsal: Rehearsal,
    tensors: Mapping[str, Any],
    step: int,
    check_owner: Callable[[], None],
) -> Result:
    """Evaluate, export and call after_train with a plain model that holds the trained tensors.

    It computes in float32, whatever the training did.

    Raises HookError when a hook fails and NotOwnerError when the run is another attempt's.
    """
    with tf.device("CPU:0"):
        model = build_model(program, ctx, rehearsal.features, precision.FULL)
    stored = checkpoint_variables.of_model(rehearsal.variables, model)
    checkpoint_variables.assign(stored, tensors)
    metrics = measure(program, ctx, model)
    directory = ctx.run_dir / "export"
    path = export(model, rehearsal.features, step, directory, check_owner=check_owner)
    log(f"exported step {step} to {path}")
    try:
        program.after_train(ctx, model)
    except Exception as error:
        raise HookError("after_train", error) from error
    return Result(step=step, metrics=metrics, export=str(path))
