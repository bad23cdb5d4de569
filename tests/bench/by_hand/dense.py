"""One dense variable of 100 MB by hand: what a step costs is what it sends."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

BATCH = 4
WIDTH = 5000


def optimizer() -> Any:
    return tf_keras.optimizers.legacy.SGD(0.001)


def model() -> tf_keras.Model:
    return tf_keras.Sequential(
        [
            tf_keras.layers.Input((WIDTH,)),
            tf_keras.layers.Dense(WIDTH, use_bias=False, kernel_initializer="zeros"),
        ]
    )


def batches(_: Any = None) -> tf.data.Dataset:
    numbers = tf.random.stateless_uniform((64, WIDTH), seed=(1, 2))
    data = tf.data.Dataset.from_tensor_slices((numbers, numbers)).shuffle(64).repeat()
    return data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def loss(labels: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(labels, outputs))
