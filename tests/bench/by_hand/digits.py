"""The digits by hand: the same small net, data and batch as the trainer's example."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from sklearn.datasets import load_digits

BATCH = 32
HELD_OUT = 360


def optimizer() -> Any:
    return tf_keras.optimizers.legacy.Adam(0.001)


def graph_optimizer() -> Any:
    return tf.compat.v1.train.AdamOptimizer(0.001)


def model() -> tf_keras.Model:
    return tf_keras.Sequential(
        [
            tf_keras.layers.Input((8, 8, 1)),
            tf_keras.layers.Conv2D(16, 3, activation="relu", padding="same"),
            tf_keras.layers.MaxPool2D(),
            tf_keras.layers.Flatten(),
            tf_keras.layers.Dense(64, activation="relu"),
            tf_keras.layers.Dense(10),
        ]
    )


def batches(_: Any = None) -> tf.data.Dataset:
    images, labels = load_digits(return_X_y=True)
    images = (images[HELD_OUT:] / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    data = tf.data.Dataset.from_tensor_slices((images, labels[HELD_OUT:].astype(np.int64)))
    shuffled = data.shuffle(len(images)).repeat()
    return shuffled.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def loss(labels: Any, outputs: Any) -> Any:
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs)
    )
