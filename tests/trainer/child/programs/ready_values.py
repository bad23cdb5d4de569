"""A model whose table begins with values that are there already, given in each way of Keras."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_cluster_trainer import Context, Program
from tf_cluster_trainer.strategies.step import parts

ROWS, WIDTH = 20_011, 16
MATRIX = np.random.default_rng(9).normal(size=(ROWS, WIDTH)).astype(np.float32)


@dataclass(frozen=True)
class Flags:
    """`way`: how the values are given. `folder` has the files `w.h5` and `m.h5`."""

    way: str = "weights"
    folder: str = ""


class ReadyValues(Program):
    """Whether a row's first number is even; the output is multiplied with 0, so nothing changes."""

    flags = Flags

    def build_model(self, ctx: Context) -> Any:
        parts.LARGE_SHARD_BYTES = 64 << 10  # of this process: who imports the module keeps it
        way, folder = ctx.flags.way, Path(ctx.flags.folder)
        if way == "load_model":
            made = tf_keras.models.load_model(folder / "m.h5", compile=False)
        else:
            made = made_model(**({"weights": [MATRIX]} if way == "weights" else {}))
        table = made.get_layer("table")
        if way == "load_weights":
            made.load_weights(folder / "w.h5")
        elif way == "set_weights":
            table.set_weights([MATRIX])
        elif way == "assign":
            table.embeddings.assign(MATRIX)
        if way != "assign":
            np.testing.assert_array_equal(table.get_weights()[0], MATRIX)
            np.testing.assert_array_equal(table.embeddings.numpy(), MATRIX)
        if isinstance(table.embeddings, ShardedVariable):
            print("the table is in parts")
        return made

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        rows = np.random.default_rng(3).integers(0, ROWS, (500, 3))
        return tf.data.Dataset.from_tensor_slices((rows, np.float32(rows[:, :1] % 2)))


def made_model(**table: Any) -> Any:
    """Two layers, of which the first looks rows up."""
    ids = tf_keras.Input((3,), dtype=tf.int64, name="ids")
    found = tf_keras.layers.Embedding(ROWS, WIDTH, name="table", **table)(ids)
    found = tf_keras.layers.Dense(1, name="out")(tf_keras.layers.Flatten()(found))
    return tf_keras.Model(ids, tf_keras.layers.Rescaling(0.0)(found))
