"""A small model that is treated as a large one: in parts, and in pieces of some rows at a time.

Whoever imports this module has small pieces and parts; so tests name it, and do not import it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.strategies.step import parts

pieces.PIECE_BYTES = 64 << 10
pieces.LEAST_BYTES = 4 << 10
pieces.LEAST_MAPPED_BYTES = 64 << 10
pieces.SMALL_STATE_BYTES = 0
parts.LARGE_SHARD_BYTES = 64 << 10

# Rows that no number of ps divides, and enough bytes that in-graph several ps get parts.
ROWS, WIDTH = 20_011, 16


@dataclass(frozen=True)
class Flags:
    """`scale`: what the output is multiplied with; with 0 no gradient changes anything."""

    scale: float = 1.0


class InPieces(Program):
    """Whether a row's number is even."""

    flags = Flags
    table_start: Any = "uniform"
    wide_start: Any = "glorot_uniform"

    def build_model(self, ctx: Context) -> Any:
        row = tf_keras.Input((), dtype=tf.int64, name="row")
        table = tf_keras.layers.Embedding(ROWS, WIDTH, self.table_start, name="table")
        wide = tf_keras.layers.Dense(
            1500, activation="relu", kernel_initializer=self.wide_start, name="wide"
        )
        found = wide(table(row))
        found = tf_keras.layers.Dense(1, name="out")(found)
        return tf_keras.Model(row, tf_keras.layers.Rescaling(ctx.flags.scale)(found))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        rows = np.random.default_rng(3).integers(0, ROWS, 5000)
        return tf.data.Dataset.from_tensor_slices((rows, (rows[:, None] % 2).astype(np.float32)))

    def evaluate(self, ctx: Context, model: Any) -> dict[str, float]:
        return {
            layer.name: float(np.sum(layer.get_weights()[0], dtype=np.float64))
            for layer in model.layers
            if layer.get_weights()
        }


class Seeded(InPieces):
    """Whether a row's number is even."""

    table_start = tf_keras.initializers.RandomUniform(seed=3)
    wide_start = tf_keras.initializers.HeUniform(seed=4)


class Rows(tf_keras.Model):  # type: ignore[misc]
    """The same, whose first call makes the variables."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf_keras.layers.Embedding(ROWS, WIDTH, name="table")
        self.wide = tf_keras.layers.Dense(1500, activation="relu", name="wide")
        self.out = tf_keras.layers.Dense(1, name="out")

    def call(self, row: Any, training: bool = False) -> Any:
        return self.out(self.wide(self.table(row)))


class Late(InPieces):
    """Whether a row's number is even."""

    def build_model(self, ctx: Context) -> Any:
        return Rows()
