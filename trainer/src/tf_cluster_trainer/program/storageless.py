"""Large variables without memory, for a model that is built only to be looked at.

The names and shapes of a model's variables, and the graph of its step, need no values. A variable
of at least 1 MiB whose initial value is a function gets a handle alone; smaller ones, and those
whose value is ready, are made as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from tf_cluster_trainer.checkpoint.pages import tensor_of, zeros
from tf_cluster_trainer.checkpoint.pieces import can_be_shared
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
        self._made_when_read = False
        super().__init__(**given)

    @property
    def can_share(self) -> bool:
        """Whether its memory is that of this process."""
        return tf.DeviceSpec.from_string(self.device).device_type in (None, "CPU")

    @property
    def has_own_value(self) -> bool:
        """Whether it has a value that is not lent."""
        return not self._lent and bool(self.is_initialized())

    def share(self, value: Any) -> None:
        """Have this tensor as the value, without a copy of its memory."""
        self._shares, self._lent = True, False
        with tf.init_scope(), tf.device(self.device):
            tf.raw_ops.AssignVariableOp(resource=self.handle, value=value)

    def lend_zeros(self, *, made_when_read: bool) -> None:
        """Read as zeros, which take no memory either; `made_when_read`: only where rows are read.

        Then the first read of the whole variable makes its value.
        """
        spec = TensorSpec(tuple(self.shape.as_list()), self.dtype.name)
        if self.can_share and can_be_shared(spec):
            self.share(tensor_of(zeros(spec)))
        else:
            self.assign(tf.zeros(self.shape, self.dtype))
        self._lent, self._made_when_read = True, made_when_read

    def assign(self, *given: Any, **more: Any) -> Any:
        """Have this value."""
        self._lent = False
        return super().assign(*given, **more)

    def _read_variable_op(self, no_copy: bool = False) -> Any:
        self._check_value()
        if self._lent and self._made_when_read and tf.executing_eagerly():
            self.assign(self.make_value())
        return super()._read_variable_op(no_copy)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Look rows up."""
        self._check_value()
        if self._shares:
            # What gathers from a variable first copies memory that is not TensorFlow's own, whole.
            return tf.gather(super()._read_variable_op(), indices, name=name)
        return super().sparse_read(indices, name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Look entries up."""
        self._check_value()
        if self._shares:
            return tf.gather_nd(super()._read_variable_op(), indices, name=name)
        return super().gather_nd(indices, name)

    def _check_value(self) -> None:
        if tf.executing_eagerly() and not self.is_initialized():
            raise ValueReadError(self.name)


class Storageless:
    """Makes large variables without memory in its scope."""

    def __init__(self) -> None:
        self._made: list[StoragelessVariable] = []
        self._lend: Callable[[StoragelessVariable], None] | None = None

    @property
    def used(self) -> bool:
        """Whether it has made one."""
        return bool(self._made)

    def lend_zeros(self, *, made_when_read: bool) -> None:
        """From now on lend zeros to the variables without a value; see there."""
        self._lend = partial(StoragelessVariable.lend_zeros, made_when_read=made_when_read)
        for one in self._made:
            if not one.is_initialized():
                self._lend(one)

    def has_filled(self, model: Any) -> bool:
        """Whether all that it made has a real value, once the model's variables were filled."""
        # Where layers compute in mixed precision, the model has others around them.
        filled = {id(getattr(variable, "handle", None)) for variable in model.variables}
        return all(id(one.handle) in filled or one.has_own_value for one in self._made)

    def scope(self) -> AbstractContextManager[None]:
        """A scope of variable creation."""
        made: AbstractContextManager[None] = tf.variable_creator_scope(self._create)
        return made

    def _create(self, create_next: Callable[..., Any], **given: Any) -> Any:
        if not _is_large(given):
            return create_next(**given)
        made = StoragelessVariable(**given)
        self._made.append(made)
        if self._lend:
            self._lend(made)
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
