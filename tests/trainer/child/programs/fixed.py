"""A program whose every batch is known: what a strategy computes can be computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

EXAMPLES = 96
WORDS = 60


def examples(worker: int, workers: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The part of the data that a worker takes, in its order."""
    chance = np.random.default_rng(7)
    numbers = chance.normal(size=(EXAMPLES, 4)).astype(np.float32)
    words = chance.integers(0, WORDS, size=(EXAMPLES, 3)).astype(np.int64)
    labels = (numbers.sum(axis=1, keepdims=True) + words.mean(axis=1, keepdims=True)) / 4
    mine = slice(worker, None, workers)
    return {"numbers": numbers[mine], "words": words[mine]}, labels[mine].astype(np.float32)


class Fixed(Program):
    """Dense and sparse gradients; no shuffling, and a regularization loss."""

    shuffle_buffer = 1

    def build_model(self, ctx: Context) -> Any:
        numbers = tf_keras.Input((4,), name="numbers")
        words = tf_keras.Input((3,), dtype=tf.int64, name="words")
        embedded = tf_keras.layers.Embedding(WORDS, 2, name="embedding")(words)
        joined = tf_keras.layers.Concatenate()([numbers, tf_keras.layers.Flatten()(embedded)])
        hidden = tf_keras.layers.Dense(
            8, "tanh", kernel_regularizer=tf_keras.regularizers.L2(0.01), name="hidden"
        )(joined)
        return tf_keras.Model([numbers, words], tf_keras.layers.Dense(1, name="out")(hidden))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        shard = ctx.data_shard
        whole = tf.data.Dataset.from_tensor_slices(examples(0, 1))
        return whole.shard(shard.count, shard.index).map(
            lambda inputs, labels: ((inputs["numbers"], inputs["words"]), labels)
        )


class Weights(tf_keras.layers.Layer):  # type: ignore[misc]
    """Adds the sums of six weights to every example."""

    def build(self, shape: Any) -> None:
        self.parts = [self.add_weight(f"w{at}", (50,), initializer="zeros") for at in range(6)]

    def call(self, inputs: Any) -> Any:
        return inputs + tf.add_n([tf.reduce_sum(part) for part in self.parts])


class Falling(Fixed):
    """The gradient of every weight is always 1: with SGD each is -rate times the steps made."""

    def build_model(self, ctx: Context) -> Any:
        numbers = tf_keras.Input((4,), name="numbers")
        words = tf_keras.Input((3,), dtype=tf.int64, name="words")
        return tf_keras.Model([numbers, words], Weights()(numbers[:, :1]))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return outputs[:, 0]
