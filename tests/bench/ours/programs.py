"""What our side of a comparison trains: the models of by_hand/, as programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tensorflow.python.data.experimental.ops import testing
from tf_cluster_trainer import Context, Program
from tf_cluster_trainer.examples import digits

WIDTH = 5000
NUMBERS, HIDDEN = 10, 256
COLUMNS, ROWS, COLUMN_WIDTH, EXAMPLES = 26, 4_000, 16, 20_000


class Digits(digits.Digits):
    """The example without its metric, which the programs by hand don't compute either."""

    metrics = Program.metrics


class Dense(Program):
    """One dense variable of 100 MB."""

    def build_model(self, ctx: Context) -> tf_keras.Model:
        return tf_keras.Sequential(
            [
                tf_keras.layers.Input((WIDTH,), name="numbers"),
                tf_keras.layers.Dense(WIDTH, use_bias=False, kernel_initializer="zeros"),
            ]
        )

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        numbers = tf.random.stateless_uniform((64, WIDTH), seed=(1, 2))
        return tf.data.Dataset.from_tensor_slices((numbers, numbers))


@dataclass(frozen=True)
class TableFlags:
    """`rows` of the table, `width` floats each."""

    rows: int = 20_000
    width: int = 16


class Table(Program):
    """Two look-ups an example in an embedding, and a sum. Each batch has other rows."""

    flags = TableFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        ids = tf_keras.Input((2,), dtype=tf.int64, name="ids")
        found = tf_keras.layers.Embedding(ctx.flags.rows, ctx.flags.width, name="table")(ids)
        return tf_keras.Model(ids, tf_keras.layers.Dense(1)(tf_keras.layers.Flatten()(found)))

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        ids = tf.random.stateless_uniform(
            (EXAMPLES, 2), seed=(1, 2), maxval=ctx.flags.rows, dtype=tf.int64, minval=0
        )
        return tf.data.Dataset.from_tensor_slices((ids, tf.cast(ids[:, :1] % 2, tf.float32)))


class LargeTable(Table):
    """The same, shuffled as by_hand/table.py does."""

    shuffle_buffer = EXAMPLES


@dataclass(frozen=True)
class SkewedFlags:
    """`rows` of the table, `width` floats each; `batches` of `batch` ids each."""

    rows: int = 1_000_000
    width: int = 64
    batch: int = 8_192
    batches: int = 20


class Skewed(Program):
    """A table of which some rows are asked for often, as words and items are: Zipf's law."""

    flags = SkewedFlags
    shuffle_buffer = 1

    def build_model(self, ctx: Context) -> tf_keras.Model:
        ids = tf_keras.Input((), dtype=tf.int64, name="ids")
        found = tf_keras.layers.Embedding(ctx.flags.rows, ctx.flags.width, name="table")(ids)
        return tf_keras.Model(ids, tf_keras.layers.Dense(1)(found))

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        ids = skewed_ids(ctx.flags)
        return tf.data.Dataset.from_tensor_slices((ids, np.float32(ids[:, np.newaxis] % 2)))


def skewed_ids(flags: SkewedFlags) -> Any:
    """All of them: each id is as likely as its place to the power of -1.2."""
    drawn = np.random.default_rng(7).zipf(1.2, flags.batches * flags.batch)
    return (drawn % flags.rows).astype(np.int64)


class Still(Table):
    """The same, which hardly trains: what else happens can be told apart."""

    shuffle_buffer = 1

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        return super().dataset(ctx, input_context).apply(testing.sleep(100_000))


class Small(Program):
    """Two dense layers."""

    def build_model(self, ctx: Context) -> tf_keras.Model:
        return tf_keras.Sequential(
            [
                tf_keras.layers.Input((NUMBERS,), name="numbers"),
                tf_keras.layers.Dense(HIDDEN, activation="relu"),
                tf_keras.layers.Dense(1),
            ]
        )

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        numbers = tf.random.stateless_uniform((1024, NUMBERS), seed=(1, 2))
        sums = tf.reduce_sum(numbers, 1, keepdims=True)
        return tf.data.Dataset.from_tensor_slices((numbers, sums))


class Columns(Program):
    """A click model: a table for each of 26 columns, and a small net."""

    shuffle_buffer = EXAMPLES

    def build_model(self, ctx: Context) -> tf_keras.Model:
        ids = tf_keras.Input((COLUMNS,), dtype=tf.int64, name="ids")
        found = [
            tf_keras.layers.Embedding(ROWS, COLUMN_WIDTH, name=f"table{at}")(ids[:, at])
            for at in range(COLUMNS)
        ]
        hidden = tf_keras.layers.Dense(64, activation="relu")(tf_keras.layers.concatenate(found))
        return tf_keras.Model(ids, tf_keras.layers.Dense(1)(hidden))

    def dataset(self, ctx: Context, input_context: Any) -> tf.data.Dataset:
        drawn = np.random.default_rng(7).zipf(1.3, (EXAMPLES, COLUMNS)) % ROWS
        labels = np.float32(drawn.sum(1, keepdims=True) % 2)
        return tf.data.Dataset.from_tensor_slices((drawn, labels))
