"""A table whose rows all get the same update each step, so that rows of two steps show.

It is saved as a large one is (in_pieces), in some hundred slices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

from tests.trainer.child.programs import in_pieces

ROWS, WIDTH = 120_011, in_pieces.WIDTH


class Sum(tf_keras.layers.Layer):  # type: ignore[misc]
    """The sum of a table, for each example."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight("table", (ROWS, WIDTH), initializer="zeros")

    def call(self, inputs: Any) -> Any:
        return tf.zeros_like(inputs) + tf.reduce_sum(tf.convert_to_tensor(self.table))


class InStep(Program):
    """The gradient is 1 everywhere, whatever the batch."""

    def build_model(self, ctx: Context) -> Any:
        given = tf_keras.Input((), name="given")
        return tf_keras.Model(given, Sum(name="sum")(given))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices((np.ones(1000, np.float32),) * 2)

    def loss(self, labels: Any, outputs: Any) -> Any:
        return outputs
