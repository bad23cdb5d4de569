"""Lets Keras' initializers make the parts of a variable as they make the whole.

Glorot's, He's and LeCun's draw from a range that follows from the variable's shape. Of a part,
tf_keras takes the part's shape for it: a kernel on ten ps begins up to three times too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf
import tf_keras

Make = Callable[..., Any]


def in_scale(create_next: Callable[..., Any], **given: Any) -> Any:
    """For a scope of variable creation: parts of a variable have the range of the whole one."""
    make, shape = given.get("initial_value"), given.get("shape")
    if callable(make) and shape is not None and tf.TensorShape(shape).is_fully_defined():
        given["initial_value"] = of_parts(make, tuple(shape))
    return create_next(**given)


def is_of_keras(make: Any) -> bool:
    """Whether a variable's value comes from an initializer of tf_keras: it needs nothing else.

    Others may also give all parts the same values: some of TensorFlow's own do.
    """
    return type(_initializer(make)).__module__.startswith("tf_keras.")


def of_parts(make: Make, shape: tuple[int, ...]) -> Make:
    """A function that gives what `make` gives for a variable of this shape, or for a part of it.

    `make` is called with `partition_shape` and `partition_offset` for a part, as tf.distribute
    does.
    """
    initializer = _initializer(make)
    if not isinstance(initializer, tf_keras.initializers.VarianceScaling):
        return make
    mode = initializer.mode

    def made(**part: Any) -> Any:
        value = make(**part)
        if "partition_shape" not in part:
            return value
        too_large = _fan(mode, part["partition_shape"]) / _fan(mode, shape)
        return value if too_large == 1 else value * math.sqrt(too_large)

    return made


def some_rows(make: Make, shape: tuple[int, ...], first: int, rows: int) -> Any:
    """Rows of a variable of this shape, here; None if the initializer knows no parts.

    `make` gives the value of the whole variable.
    """
    some = (rows, *shape[1:])
    try:
        value = of_parts(make, shape)(
            partition_shape=some, partition_offset=(first, *(0 for _ in shape[1:]))
        )
    except (TypeError, ValueError):  # as Keras' say it
        return None
    return value if tuple(value.shape) == some else None


def _initializer(make: Any) -> Any:
    """What Keras' layers have make a variable's value; None if it is something else."""
    return make.func if isinstance(make, partial) else None


def _fan(mode: str, shape: tuple[int, ...]) -> float:
    """What the variance is divided by."""
    field = math.prod(shape[:-2])
    fan_in = field * shape[-2] if len(shape) > 1 else math.prod(shape)
    fan_out = field * shape[-1] if len(shape) > 1 else math.prod(shape)
    fans = {"fan_in": fan_in, "fan_out": fan_out}
    return max(1.0, fans.get(mode, (fan_in + fan_out) / 2))
