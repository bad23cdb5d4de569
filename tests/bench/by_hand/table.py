"""A table of 1 GB by hand: two look-ups an example, and a sum. Each batch has other rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

BATCH = 256
ROWS, WIDTH, EXAMPLES = 4_000_000, 64, 20_000
RATE = 0.01


def optimizer() -> Any:
    return tf_keras.optimizers.legacy.Adagrad(RATE)


def graph_optimizer() -> Any:
    return tf.compat.v1.train.AdagradOptimizer(RATE)


def model() -> tf_keras.Model:
    ids = tf_keras.Input((2,), dtype=tf.int64)
    found = tf_keras.layers.Embedding(ROWS, WIDTH, name="table")(ids)
    return tf_keras.Model(ids, tf_keras.layers.Dense(1)(tf_keras.layers.Flatten()(found)))


def batches(_: Any = None) -> tf.data.Dataset:
    ids = tf.random.stateless_uniform(
        (EXAMPLES, 2), seed=(1, 2), minval=0, maxval=ROWS, dtype=tf.int64
    )
    labels = tf.cast(ids[:, :1] % 2, tf.float32)
    data = tf.data.Dataset.from_tensor_slices((ids, labels)).shuffle(EXAMPLES).repeat()
    return data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def loss(labels: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(labels, outputs))
