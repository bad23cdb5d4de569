"""Small models that are cut in parts as if they were large.

Whoever imports this module has small parts; so tests name it, and do not import it.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context
from tf_cluster_trainer.strategies.step import parts

from tests.trainer.child.programs import fixed, recurrent

parts.SHARD_BYTES = 64  # more than what an in-graph strategy counts with
parts.LARGE_SHARD_BYTES = 1


class Fixed(fixed.Fixed):
    """Every variable is in parts, vectors too."""


class Gathering(tf_keras.layers.Embedding):  # type: ignore[misc]
    """Looks rows up by tf.gather and ids in a row, as layers of users do."""

    def call(self, inputs: Any) -> Any:
        rows = tf.gather(self.embeddings, tf.reshape(inputs, [-1]))
        return tf.reshape(rows, [-1, inputs.shape[1], self.output_dim])


class Gathers(fixed.Fixed):
    """The same model, of a layer that gathers."""

    def build_model(self, ctx: Context) -> Any:
        layer = tf_keras.layers.Embedding
        tf_keras.layers.Embedding = Gathering
        try:
            return super().build_model(ctx)
        finally:
            tf_keras.layers.Embedding = layer


class Recurrent(recurrent.Recurrent):
    """LSTM and GRU, all in parts."""


class Bound(fixed.Fixed):
    """A kernel with a limit for the norm of each column: only the whole of it has that."""

    def build_model(self, ctx: Context) -> Any:
        numbers = tf_keras.Input((4,), name="numbers")
        words = tf_keras.Input((3,), dtype=tf.int64, name="words")
        bound = tf_keras.constraints.MaxNorm(0.01)
        out = tf_keras.layers.Dense(1, name="out", kernel_constraint=bound)(numbers)
        return tf_keras.Model([numbers, words], out)


class Picky(tf_keras.layers.Layer):  # type: ignore[misc]
    """A layer that computes with a variable, and with nothing else."""

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight("kernel", (shape[-1], 1))

    def call(self, inputs: Any) -> Any:
        assert isinstance(self.kernel, tf.Variable), "no variable"
        return inputs @ self.kernel


class NotInParts(fixed.Fixed):
    """A model that can't be built in parts."""

    def build_model(self, ctx: Context) -> Any:
        numbers = tf_keras.Input((4,), name="numbers")
        words = tf_keras.Input((3,), dtype=tf.int64, name="words")
        return tf_keras.Model([numbers, words], Picky(name="out")(numbers))
