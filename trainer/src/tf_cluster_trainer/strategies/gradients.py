"""One tower's part of a step: the loss of a batch, its gradients and its measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.program import Program
from tf_cluster_trainer.strategies import precision

NOT_FINITE = "the loss is not finite:"


class Gradients:
    """The same in every strategy, so that a program means the same in all."""

    def __init__(self, program: Program, model: Any, metrics: Sequence[str]) -> None:
        self._program = program
        self._model = model
        self._metrics = metrics

    @property
    def measures(self) -> int:
        """How many measures a step has: the loss and each metric."""
        return 1 + len(self._metrics)

    def of(self, features: Any, labels: Any, made: Any) -> tuple[Any, Any]:
        """Gradients by trainable variable, and [loss, *metrics] as float64.

        A loss that is not finite raises, see `when_finite`.
        """
        gradients, measures = self.unchecked(features, labels)
        return when_finite(measures[0], made, gradients), measures

    def unchecked(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """The same without a look at the loss.

        The loss is the mean over the batch plus the model's own (regularization).
        """
        variables = self._model.trainable_variables
        with tf.GradientTape() as tape:
            outputs = precision.outputs(self._model(features, training=True))
            loss = tf.reduce_mean(self._program.loss(labels, outputs))
            if self._model.losses:
                loss += tf.cast(tf.add_n(self._model.losses), loss.dtype)
        gradients = tape.gradient(loss, variables)
        measured = self._program.metrics(labels, outputs)
        values = (loss, *(tf.reduce_mean(measured[name]) for name in self._metrics))
        return gradients, tf.stack([tf.cast(value, tf.float64) for value in values])


def when_finite(loss: Any, made: Any, gradients: Any) -> Any:
    """The gradients once the loss is known to be finite.

    Otherwise InvalidArgumentError with NOT_FINITE in it is raised before any of them is used.
    `made` is the number of steps made before in the same call, for that message.
    """
    finite = tf.debugging.Assert(
        tf.math.is_finite(loss), [NOT_FINITE, loss, made], name="loss_is_finite"
    )
    with tf.control_dependencies([finite]):
        return tf.nest.map_structure(tf.identity, gradients, expand_composites=True)
