"""One tower's part of a step: the loss of its batches, their mean gradients and measures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.strategies.step.each_row_once import each_row_once
from tf_cluster_trainer.strategies.step.reading import ReadOnce

NOT_FINITE = "the loss is not finite:"


class Gradients:
    """Computes gradients in every strategy, so that a program means the same in all.

    With `micro_batches` n > 1 a step takes n batches one after the other: features and labels are
    [n, batch, ...], and the results are the means over the n batches. Only one batch's activations
    are in memory at a time, and a remote variable is read once.

    `rows_once`: an Embedding looks each distinct id up once. Workers that gather one another's
    gradients have to send as many rows as the others, so all-reduce does not.
    """

    def __init__(
        self,
        program: Program,
        model: Any,
        metrics: Sequence[str],
        micro_batches: int,
        *,
        rows_once: bool = True,
    ) -> None:
        self._program = program
        self._model = model
        self._metrics = metrics
        self._micro_batches = micro_batches
        self._looking_up = each_row_once if rows_once else nullcontext

    @property
    def measures(self) -> int:
        """The number of measures of a step: the loss and each metric."""
        return 1 + len(self._metrics)

    def of(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """Return gradients by trainable variable, and [loss, *metrics] as float64.

        Raises for a loss that is not finite; see `when_finite`.
        """
        gradients, measures = self.unchecked(features, labels)
        return when_finite(measures[0], gradients), measures

    def unchecked(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """The same without a check of the loss.

        The loss is the mean over the batch plus the model's regularization losses.
        """
        if self._micro_batches > 1:
            return self._of_all(features, labels)
        with tf.GradientTape() as tape:
            loss, measures = self._measured(features, labels)
        return tape.gradient(loss, self._model.trainable_variables), measures

    def _measured(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """The loss of one batch, and its measures."""
        with self._looking_up():
            outputs = precision.outputs(self._model(features, training=True))
        loss = tf.reduce_mean(self._program.loss(labels, outputs))
        if self._model.losses:
            loss += tf.cast(tf.add_n(self._model.losses), loss.dtype)
        measured = self._program.metrics(labels, outputs)
        values = (loss, *(tf.reduce_mean(measured[name]) for name in self._metrics))
        return loss, tf.stack([tf.cast(value, tf.float64) for value in values])

    def _of_all(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """Unrolled, not a loop: TensorFlow puts the whole body of an inner loop on one machine."""
        values = ReadOnce(self._model.trainable_variables)
        sums: Any = None
        for at in range(self._micro_batches):
            before = tf.nest.flatten(sums, expand_composites=True) if at else []
            with tf.control_dependencies([tensor for tensor in before if tensor is not None]):
                parts = [part[at] for part in tf.nest.flatten((features, labels))]
                batch = tf.nest.pack_sequence_as((features, labels), parts)
                with tf.GradientTape() as tape, values.on(tape):
                    loss, measures = self._measured(batch[0], batch[1])
                new = (values.gradients(tape, loss), measures)
                sums = _plus(sums, new) if at else new
        gradients, measures = sums
        share = 1 / self._micro_batches
        return [scaled(gradient, share) for gradient in gradients], measures * share


def scaled(gradient: Any, by: float) -> Any:
    """The gradient times a number; None stays None."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values * by, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient * by


def _plus(sums: tuple[Any, Any], new: tuple[Any, Any]) -> tuple[Any, Any]:
    """Add the gradients and measures of one more batch."""
    gradients = [_sum(one, other) for one, other in zip(sums[0], new[0], strict=True)]
    return gradients, sums[1] + new[1]


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tf.IndexedSlices):
        return tf.IndexedSlices(
            tf.concat([one.values, other.values], axis=0),
            tf.concat([one.indices, other.indices], axis=0),
            one.dense_shape,
        )
    return None if one is None else one + other


def when_finite(loss: Any, gradients: Any) -> Any:
    """The gradients once the loss is known to be finite; see `check_finite`."""
    with tf.control_dependencies([check_finite(loss)]):
        return tf.nest.map_structure(tf.identity, gradients, expand_composites=True)


def check_finite(loss: Any) -> Any:
    """Return the loss; InvalidArgumentError with NOT_FINITE in its text if it is NaN or infinite.

    It is one operation on the loss's device: tf.debugging.Assert makes a conditional, which in a
    step that spans the cluster cost a quarter of the step. TensorFlow runs such checks of one
    function one after the other, wherever they are.
    """
    return tf.debugging.check_numerics(loss, NOT_FINITE, name="loss_is_finite")
