"""A kernel that is cut in parts, whose first values follow from its shape."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

WIDE = 2048


class WideStart(Program):
    """Sums what it is given."""

    def build_model(self, ctx: Context) -> Any:
        given = tf_keras.Input((WIDE,))
        kernel = tf_keras.initializers.HeUniform()
        seen = tf_keras.layers.Dense(300, kernel_initializer=kernel, name="wide")(given)
        return tf_keras.Model(given, tf_keras.layers.Dense(1, name="out")(seen))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        features = tf.zeros([64, WIDE])  # so that no gradient changes the kernel
        return tf.data.Dataset.from_tensor_slices((features, tf.zeros([64, 1])))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return tf.reduce_sum(tf.square(outputs - labels), -1)
