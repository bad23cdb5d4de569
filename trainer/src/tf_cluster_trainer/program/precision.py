"""`train.precision`: which numbers a model computes with. Its variables are float32 in any case.

mixed_bfloat16 is tf_keras' policy of that name. bfloat16 has float32's range, so no gradient
underflows and nothing has to be scaled; float16, which needs that, is not offered: a loss scale
that moves is one more state of the run, and a step whose gradients overflowed would be none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import tf_keras

FULL = "float32"


@contextlib.contextmanager
def policy(name: str) -> Iterator[None]:
    """Layers that are made in it compute by this policy, but for those that name their own."""
    before = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        tf_keras.mixed_precision.set_global_policy(before)


def outputs(found: Any) -> Any:
    """A model's outputs as the program's `loss` and `metrics` get them: bfloat16 as float32."""
    return tf.nest.map_structure(_full, found)


def _full(tensor: Any) -> Any:
    return tf.cast(tensor, tf.float32) if tensor.dtype == tf.bfloat16 else tensor
