"""Constraints that no step can keep: of a variable whose gradient is of some rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.base import Program


def check(program: Program, model: Any, features: Any, labels: Any) -> None:
    """Raise ProgramError for a variable with a constraint of which a step looks up rows alone.

    The optimizers refuse it. To apply the constraint to all rows in each step would cost as much as
    a dense gradient, and lose what other workers write meanwhile; to the rows looked up, it would
    not hold for the others. `features` and `labels` are the specs of a batch.
    """
    trained = {id(variable) for variable in model.trainable_variables}
    keys = checkpoint_variables.specs(model)
    constrained = {
        key: variable
        for key, variable in zip(keys, model.variables, strict=True)
        if id(variable) in trained and variable.constraint is not None
    }
    if not constrained:
        return
    by_rows: list[str] = []

    def step(features: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            loss = program.loss(labels, precision.outputs(model(features, training=True)))
            # With a regularizer all rows have a gradient.
            losses = [tf.reduce_sum(tf.cast(one, tf.float32)) for one in (loss, *model.losses)]
            total = tf.add_n(losses)
        found = tape.gradient(total, [*constrained.values()])
        by_rows.extend(
            key
            for key, gradient in zip(constrained, found, strict=True)
            if isinstance(gradient, tf.IndexedSlices)
        )

    try:
        tf.function(step).get_concrete_function(features, labels)
    except Exception as error:
        raise HookError("the model or loss", error) from error
    if by_rows:
        name = by_rows[0].removeprefix("model/")
        raise ProgramError(
            f"the model's variable {name} has a constraint, but a step changes only the rows that "
            "it looks up; the constraint would not hold for the others. Use a regularizer instead, "
            "or have the model's call apply the constraint to the rows that it looked up"
        )
