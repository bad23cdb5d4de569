"""Large variables without memory, for a model that is only looked at, or gets other values.

The names and shapes of a model's variables, and the graph of its step, need no values; a model that
is filled from a checkpoint does not need its first ones. A variable of at least 1 MiB whose initial
value is a function gets a handle alone; smaller ones, and those whose value is ready, are made as
always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from tf_cluster_trainer.checkpoint.arrays import tensor_of
from tf_cluster_trainer.checkpoint.pages import zeros
from tf_cluster_trainer.checkpoint.pieces import can_be_shared, total
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import HookError

LEAST_BYTES = 1 << 20


class ValueReadError(Exception):
    """The program read the value of a variable that has none here."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name} is not there while the model is only looked at")
        self.name = name


class StoragelessVariable(UninitializedVariable):  # type: ignore[misc]
    """A variable that has a value only where one is assigned, or given by `share`.

    `make_value` makes the value that it would have had.
    """

    def __init__(self, **given: Any) -> None:
        self.make_value: Callable[..., Any] = given["initial_value"]
        self._shares = False
        self._lent = False
        super().__init__(**given)

    @property
    def can_share(self) -> bool:
        """Whether another's memory can be its value."""
        of_host = tf.DeviceSpec.from_string(self.device).device_type in (None, "CPU")
        return of_host and can_be_shared(self._spec)

    @property
    def has_own_value(self) -> bool:
        """Whether it has a value that is not lent."""
        return not self._lent and bool(self.is_initialized())

    def share(self, value: Any) -> None:
        """Have this tensor as the value, without a copy of its memory."""
        self._shares, self._lent = True, False
        with tf.init_scope(), tf.device(self.device):
            tf.raw_ops.AssignVariableOp(resource=self.handle, value=value)

    def lend_zeros(self) -> None:
        """Read as zeros that take no memory, until it has another value. Raises ValueReadError."""
        if not self.can_share:
            raise ValueReadError(self.name)
        self.share(tensor_of(zeros(self._spec)))
        self._lent = True

    def assign(self, *given: Any, **more: Any) -> Any:
        """Have this value."""
        self._shares = self._lent = False
        return super().assign(*given, **more)

    def _read_variable_op(self, no_copy: bool = False) -> Any:
        self._check_value()
        return super()._read_variable_op(no_copy)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Look rows up."""
        self._check_value()
        if self._gathers_from_value():
            return tf.gather(self.read_value(), indices, name=name)
        return super().sparse_read(indices, name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Look entries up."""
        self._check_value()
        if self._gathers_from_value():
            return tf.gather_nd(self.read_value(), indices, name=name)
        return super().gather_nd(indices, name)

    def _gathers_from_value(self) -> bool:
        """Whether to gather from the value: what gathers from the variable first copies all of it.

        It does so once, with memory that is not TensorFlow's own. Under a gradient tape this
        variable is about to be trained, which copies it too, and makes reads of the value copies.
        """
        if record.could_possibly_record():
            self._shares = False
        return self._shares

    @property
    def _spec(self) -> TensorSpec:
        return TensorSpec(tuple(self.shape.as_list()), self.dtype.name)

    def _check_value(self) -> None:
        if tf.executing_eagerly() and not self.is_initialized():
            raise ValueReadError(self.name)


def inner(variable: Any) -> StoragelessVariable | None:
    """The storageless variable that this one is, or that it wraps for mixed precision."""
    found = getattr(variable, "_variable", variable)
    return found if isinstance(found, StoragelessVariable) else None


class Storageless:
    """Makes large variables without memory in its scope."""

    def __init__(self) -> None:
        self._made: list[StoragelessVariable] = []
        self._lends = False

    @property
    def used(self) -> bool:
        """Whether it has made one."""
        return bool(self._made)

    @property
    def bytes(self) -> int:
        """Of the values that it did not make."""
        return total(one._spec for one in self._made)

    def lend_zeros(self) -> None:
        """From now on lend zeros to the variables without a value. Raises ValueReadError."""
        self._lends = True
        for one in self._made:
            if not one.is_initialized():
                one.lend_zeros()

    def has_filled(self, model: Any) -> bool:
        """Whether all that it made has a real value, once the model's variables were filled."""
        filled = {id(inner(variable)) for variable in model.variables}
        return all(id(one) in filled or one.has_own_value for one in self._made)

    def scope(self) -> AbstractContextManager[None]:
        """A scope of variable creation."""
        made: AbstractContextManager[None] = tf.variable_creator_scope(self._create)
        return made

    def _create(self, create_next: Callable[..., Any], **given: Any) -> Any:
        if not _is_large(given):
            return create_next(**given)
        made = StoragelessVariable(**given)
        self._made.append(made)
        if self._lends:
            made.lend_zeros()
        return made


def read_in(error: BaseException | None) -> str:
    """The variable whose missing value caused this error; "" if another thing did."""
    read = ""
    while error is not None:
        # The innermost: Keras makes others of its class, with longer messages.
        read = error.name if isinstance(error, ValueReadError) else read
        before = error.cause if isinstance(error, HookError) else error.__cause__
        error = before or error.__context__  # AutoGraph raises another error in its place
    return read


def _is_large(given: dict[str, Any]) -> bool:
    shape, dtype = given.get("shape"), given.get("dtype")
    if shape is None or dtype is None or not callable(given.get("initial_value")):
        return False
    shape, dtype = tf.TensorShape(shape), tf.as_dtype(dtype)
    if not shape.is_fully_defined() or not dtype.size:
        return False
    return bool(math.prod(shape.as_list()) * int(dtype.size) >= LEAST_BYTES)
