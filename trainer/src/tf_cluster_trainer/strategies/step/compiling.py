"""What XLA leaves alone (`train.xla`)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensorflow as tf


def never_compiled() -> AbstractContextManager[Any]:
    """A context for operations that take whole variables, or of which no size is known before."""
    if tf.executing_eagerly():
        return nullcontext()
    scope: AbstractContextManager[Any] = tf.xla.experimental.jit_scope(compile_ops=False)
    return scope
