"""In how many parts a variable lies on the ps, and which variable no task could send.

`tf-cluster plan` reckons with the same rule (generator, planning/memory.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable

from tf_cluster_trainer.checkpoint.pieces import PART_BYTES, size
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError

SHARD_BYTES = 256 << 10
"""The least of a part in-graph."""
LARGE_SHARD_BYTES = 1 << 30
"""The same between-graph. Each part costs worker 0 memory: operations that fill and read it."""
MESSAGE_BYTES = 2 << 30
"""What no message between two tasks can hold, nor then a part or a whole variable."""


class Partitioner:
    """Says in how many parts a variable is cut; a partitioner as tf.distribute takes it.

    Its two creators are for scopes of variable creation, see tf.variable_creator_scope. Either
    keeps a variable whole whose constraint needs all rows.
    """

    def __init__(self, ps: int, least: int) -> None:
        """`least` is the least bytes of a part."""
        self._ps = ps
        self._by_ps = tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=least, max_shards=ps
        )
        self._whole = False

    def __call__(self, shape: tf.TensorShape, dtype: tf.DType) -> list[int]:
        """The number of parts along each axis: 1 but for the first."""
        if self._whole:
            return [1] * len(shape)
        parts: list[int] = list(self._by_ps(shape, dtype))
        least = math.ceil(size(TensorSpec(tuple(shape), dtype.name)) / PART_BYTES)
        if least > parts[0]:
            parts[0] = min(math.ceil(least / self._ps) * self._ps, shape[0])
        return parts

    def keep_constrained(self, create_next: Callable[..., Any], **given: Any) -> Any:
        """For ParameterServerStrategy's scope, which calls this partitioner.

        Raises ProgramError for a whole variable of 2 GiB or more.
        """
        constraint = given.get("constraint")
        if constraint is None or given.get("initial_value") is None:
            return create_next(**given)
        made = _described(given)
        self._whole = needs_all_rows(constraint, len(made["shape"]))
        if self._whole:
            spec = TensorSpec(tuple(made["shape"]), made["dtype"].name)
            check_whole({str(given.get("name")): spec}, "with a constraint that needs all rows")
        try:
            return create_next(**given)
        finally:
            self._whole = False

    def create_in_parts(self, create_next: Callable[..., Any], **given: Any) -> Any:
        """Without a strategy: make the parts that it would make, in order."""
        if given.get("initial_value") is None:
            return create_next(**given)
        made_so = _described(given)
        counts = self._rows(made_so)
        if len(counts) < 2:
            return create_next(**given)
        make, name = made_so["initial_value"], given.get("name") or "Variable"
        made: list[Any] = []
        first = 0
        for at, rows in enumerate(counts):
            part = {
                "shape": (rows, *made_so["shape"][1:]),
                "dtype": made_so["dtype"],
                "initial_value": partial(_some_rows, make, first, rows),
                "name": f"{name}/part_{at}",
            }
            made.append(create_next(**{**given, **part}))
            first += rows
        return ShardedVariable(made)

    def _rows(self, given: Mapping[str, Any]) -> list[int]:
        """How many rows each part has; none if it can't be cut."""
        shape = given["shape"]
        if not shape.rank or not shape.is_fully_defined():
            return []
        beside = given.get("colocate_with") is not None
        if beside or needs_all_rows(given.get("constraint"), shape.rank):
            return []
        count = min(self(shape, given["dtype"])[0], shape[0])
        base, more = divmod(shape[0], max(count, 1))
        return [base + (at < more) for at in range(count)]


def partitioner(
    ps: int, variables: Iterable[TensorSpec], least: int | None = None
) -> Partitioner | None:
    """What cuts variables for so many ps, in parts of SHARD_BYTES or `least` bytes at least.

    None where no variable is cut.
    """
    least = SHARD_BYTES if least is None else least
    whole = PART_BYTES if ps == 1 else least
    if all(size(one) <= whole for one in variables):
        return None
    return Partitioner(ps, least)


def _described(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same of known shape and type, with a function for its value: as tf.distribute has it."""
    shape, dtype, make = given.get("shape"), given.get("dtype"), given["initial_value"]
    if shape is None or dtype is None or not callable(make):
        value = tf.convert_to_tensor(make() if callable(make) else make, dtype)
        return {**given, "shape": value.shape, "dtype": value.dtype, "initial_value": lambda: value}
    return {**given, "shape": tf.TensorShape(shape), "dtype": tf.as_dtype(dtype)}


def _some_rows(make: Callable[[], Any], first: int, rows: int) -> Any:
    return tf.convert_to_tensor(make())[first : first + rows]


def needs_all_rows(constraint: Any, rank: int) -> bool:
    """Whether this constraint of a variable can't be held by each part for itself."""
    if constraint is None or isinstance(constraint, tf_keras.constraints.NonNeg):
        return False
    axes = getattr(constraint, "axis", None)  # of the norms that Keras knows
    if isinstance(axes, int):
        axes = [axes]
    if not isinstance(axes, (list, tuple)) or not rank:
        return True
    return any(axis % rank == 0 for axis in axes)


def check_whole(variables: Mapping[str, TensorSpec], why: str) -> None:
    """Raise ProgramError that names a variable of 2 GiB or more: here each is in one piece."""
    for key, spec in variables.items():
        if size(spec) >= MESSAGE_BYTES:
            raise ProgramError(_too_large(key, size(spec), f"{why} each variable is whole"))


def check_rows(variables: Mapping[str, TensorSpec]) -> None:
    """Raise ProgramError that names a variable of which one row is too large."""
    for key, spec in variables.items():
        rows = spec.shape[0] if spec.shape else 1
        row = size(spec) // max(rows, 1)
        if row >= MESSAGE_BYTES:
            raise ProgramError(_too_large(key, row, "variables are cut by rows, and one row of it"))


def _too_large(key: str, found: int, why: str) -> str:
    return (
        f"the model's variable {key.removeprefix('model/')} can't be trained on parameter servers: "
        f"{why}, here of {found / 2**30:.1f} GiB, and no message between two tasks holds 2 GiB. "
        "In-graph replication in float32 cuts variables by rows; or make it of several variables"
    )
