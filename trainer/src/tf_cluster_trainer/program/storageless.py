"""Large variables without memory, for a model that is built only to be looked at.

The names and shapes of a model's variables, and the graph of its step, need no values. A variable
of at least 1 MiB whose initial value is a function gets a handle alone; smaller ones, and those
whose value is ready, are made as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from tf_cluster_trainer.errors import HookError, ProgramError

LEAST_BYTES = 1 << 20
MOST_BYTES = 256 << 20
"""Of large variables that are made with their values because the program reads one."""


class ValueReadError(Exception):
    """The program read the value of a variable that has none here."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name} is not there while the model is only looked at")
        self.name = name


class StoragelessVariable(UninitializedVariable):  # type: ignore[misc]
    """A variable that has a value only where the program assigns one."""

    def _read_variable_op(self, no_copy: bool = False) -> Any:
        self._check_value()
        return super()._read_variable_op(no_copy)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Look rows up."""
        self._check_value()
        return super().sparse_read(indices, name)

    def _check_value(self) -> None:
        if tf.executing_eagerly() and not self.is_initialized():
            raise ValueReadError(self.name)


def storageless() -> AbstractContextManager[None]:
    """In this scope large variables get no memory."""

    def create(create_next: Callable[..., Any], **given: Any) -> Any:
        return StoragelessVariable(**given) if _size(given) else create_next(**given)

    scope: AbstractContextManager[None] = tf.variable_creator_scope(create)
    return scope


def bounded(above: Exception) -> AbstractContextManager[None]:
    """In this scope large variables are made as always, up to 256 MiB; then raises `above`."""
    made = 0

    def create(create_next: Callable[..., Any], **given: Any) -> Any:
        nonlocal made
        made += _size(given)
        if made > MOST_BYTES:
            raise above
        return create_next(**given)

    scope: AbstractContextManager[None] = tf.variable_creator_scope(create)
    return scope


def why_not(error: Exception) -> Exception:
    """What to say if a model that failed so without its values can't be made with them either."""
    read: ValueReadError | None = None
    cause: BaseException | None = error
    while cause is not None:
        # The innermost: Keras makes others of its class, with longer messages.
        read = cause if isinstance(cause, ValueReadError) else read
        before = cause.cause if isinstance(cause, HookError) else cause.__cause__
        cause = before or cause.__context__  # AutoGraph raises another error in its place
    if read is None:
        return error
    return ProgramError(
        f"the program reads the value of {read.name} while its model is built, and the model's "
        f"large variables take more than the {MOST_BYTES >> 20} MiB that are made for that. Their "
        "first values are made where they are trained: give a value by the layer's initializer, "
        "and read values in evaluate or after_train"
    )


def _size(given: dict[str, Any]) -> int:
    """Bytes of a large variable; 0 of one that is made as always."""
    shape, dtype = given.get("shape"), given.get("dtype")
    if shape is None or dtype is None or not callable(given.get("initial_value")):
        return 0
    shape, dtype = tf.TensorShape(shape), tf.as_dtype(dtype)
    if not shape.is_fully_defined() or not dtype.size:
        return 0
    size = math.prod(shape.as_list()) * dtype.size
    return size if size >= LEAST_BYTES else 0
