"""A click model by hand: a table for each of 26 columns, and a small net."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

BATCH = 256
COLUMNS, ROWS, WIDTH, EXAMPLES = 26, 4_000, 16, 20_000


def optimizer() -> Any:
    return tf_keras.optimizers.legacy.Adagrad(0.01)


def model() -> tf_keras.Model:
    ids = tf_keras.Input((COLUMNS,), dtype=tf.int64)
    found = [
        tf_keras.layers.Embedding(ROWS, WIDTH, name=f"table{at}")(ids[:, at])
        for at in range(COLUMNS)
    ]
    hidden = tf_keras.layers.Dense(64, activation="relu")(tf_keras.layers.concatenate(found))
    return tf_keras.Model(ids, tf_keras.layers.Dense(1)(hidden))


def examples() -> Any:
    """Ids by column, each as likely as its place to the power of -1.3, and labels."""
    drawn = np.random.default_rng(7).zipf(1.3, (EXAMPLES, COLUMNS)) % ROWS
    return drawn, np.float32(drawn.sum(1, keepdims=True) % 2)


def batches(_: Any = None) -> tf.data.Dataset:
    data = tf.data.Dataset.from_tensor_slices(examples()).shuffle(EXAMPLES).repeat()
    return data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def loss(labels: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(labels, outputs))
