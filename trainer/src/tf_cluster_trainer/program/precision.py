"""`train.precision`: the type that a model computes in. Its variables are always float32.

mixed_bfloat16 is tf_keras' policy of that name. bfloat16 has float32's range, so no gradient
underflows and no loss scale is needed. float16 needs one, so we do not offer it: a changing loss
scale is one more state of the run, and a step whose gradients overflow would be no update.
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
    """Inside this context, new layers compute by this policy, unless they name their own."""
    before = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        tf_keras.mixed_precision.set_global_policy(before)


def outputs(found: Any) -> Any:
    """Cast a model's bfloat16 outputs to float32, for the program's `loss` and `metrics`."""
    return tf.nest.map_structure(_full, found)


def _full(tensor: Any) -> Any:
    return tf.cast(tensor, tf.float32) if tensor.dtype == tf.bfloat16 else tensor
