"""A model with a variable of every type, that each worker begins with another value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

TYPES = [
    *(tf.bool, tf.string, tf.float16, tf.bfloat16, tf.float32, tf.float64),
    *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    *(tf.complex64, tf.complex128),
]


def value(number: int, dtype: tf.DType) -> Any:
    """A value of this type [2, 3]; each number has another."""
    if dtype == tf.string:
        return tf.fill([2, 3], f"\0word {number}\0")
    if dtype.is_bool:
        return tf.fill([2, 3], number == 0)
    numbers = tf.reshape(tf.range(6.0), [2, 3]) + number
    if dtype.is_complex:
        return tf.cast(tf.complex(numbers + 0.5, -numbers - 0.25), dtype)
    if dtype.is_floating:
        return tf.cast(numbers + 0.5, dtype)
    # The highest numbers, which are negative in the signed type of that size.
    return dtype.max - tf.cast(numbers, dtype)


class Kept(tf_keras.layers.Layer):  # type: ignore[misc]
    """Its output [batch, 1] is 1 where every variable has the value of 0, and 0 elsewhere."""

    def __init__(self, number: int) -> None:
        super().__init__(name="kept")
        self.number = number

    def build(self, shape: Any) -> None:
        self.kept = [
            self.add_weight(
                dtype.name,
                [2, 3],
                dtype,
                initializer=lambda shape, dtype: value(self.number, tf.as_dtype(dtype)),
                trainable=False,
            )
            for dtype in TYPES
        ]
        # Trained; each is the only one of its type.
        self.none = self.add_weight("none", [0, 4], tf.float16, initializer="zeros")
        self.phase = self.add_weight("phase", [3], tf.complex64, initializer="ones")

    def call(self, x: Any) -> Any:
        same = [tf.reduce_all(tf.equal(one.read_value(), value(0, one.dtype))) for one in self.kept]
        nothing = tf.cast(tf.reduce_sum(self.none), tf.float32)
        nothing += 0 * tf.reduce_sum(tf.math.real(self.phase))
        return tf.ones_like(x[:, :1]) * tf.cast(tf.reduce_all(same), tf.float32) + nothing


@dataclass(frozen=True)
class Flags:
    """`start`: the number of worker 0's first values; that of worker i is i more."""

    start: int = 0


class OfAnyType(Program):
    """The loss is the share of the workers that have not the values of 0."""

    flags = Flags

    def build_model(self, ctx: Context) -> Any:
        x = tf_keras.Input((4,))
        kept = Kept(ctx.flags.start + ctx.task.index)(x)
        trained = tf_keras.layers.Dense(1, dtype="bfloat16")(x)
        found = tf_keras.layers.Concatenate(dtype="float32")([trained, kept])
        return tf_keras.Model(x, found)

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return tf.data.Dataset.from_tensors((tf.ones([4]), tf.ones([1])))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return labels[:, 0] - outputs[:, 1] + 0 * outputs[:, 0]
