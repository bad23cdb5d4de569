"""Large variables begin as zeros, and the ps that keep them make their first values in place.

They make some rows at a time: an initializer that makes a part at once holds it up to three times,
and TensorFlow's allocator keeps what it once had. The rows are made as between-graph makes them
(program/first_values.py), so they are the same whatever the number of ps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute.sharded_variable import ShardedVariable

from tf_cluster_trainer.checkpoint.pieces import can_be_cut, piece_bytes, size, slices, total
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor, end_rows, in_parts, put_rows
from tf_cluster_trainer.program.initializers import is_of_keras, some_rows


class FirstRows:
    """A creator for a scope of variable creation, outside of the one that cuts variables."""

    def __init__(self, variables: Iterable[TensorSpec]) -> None:
        """`variables`: all of the model's."""
        self._most = piece_bytes(total(variables))

    def create(self, create_next: Callable[..., Any], **given: Any) -> Any:
        """Make a variable of more than a piece from zeros, if its initializer makes rows."""
        make: Any = given.get("initial_value")
        spec = _spec(given) if tf.executing_eagerly() and is_of_keras(make) else None
        if spec is None or size(spec) <= self._most or not can_be_cut(spec):
            return create_next(**given)
        with tf.device("CPU:0"):
            if some_rows(make, spec.shape, 0, 1) is None:
                return create_next(**given)

        def zeros(partition_shape: Any = spec.shape, partition_offset: Any = None) -> Any:
            return tf.zeros(partition_shape, spec.dtype)

        made = create_next(**{**given, "initial_value": zeros})
        # Also where the run goes on: the program may have variables that no checkpoint has.
        parts = made.variables if isinstance(made, ShardedVariable) else [made]
        self._fill(StoredTensor("", spec, tuple(parts)), make)
        return made

    def _fill(self, stored: StoredTensor, make: Callable[..., Any]) -> None:
        shape = stored.spec.shape
        row_bytes = size(stored.spec) // shape[0]
        for first, rows in slices(0, shape[0], row_bytes, self._most):
            # A part that ends within these rows has them made once more for the next one.
            for at, row_in_part, low, high in in_parts(stored, first, first + rows):
                part = stored.parts[at]
                with tf.device(part.device):
                    value = some_rows(make, shape, first, rows)
                    indices = tf.range(row_in_part, row_in_part + high - low, dtype=tf.int64)
                    put_rows(part, indices, value[low - first : high - first])
        for part in stored.parts:
            with tf.device(part.device):
                end_rows(part)


def _spec(given: Mapping[str, Any]) -> TensorSpec | None:
    shape, dtype = given.get("shape"), given.get("dtype")
    if shape is None or dtype is None or not tf.TensorShape(shape).is_fully_defined():
        return None
    return TensorSpec(tuple(tf.TensorShape(shape)), tf.as_dtype(dtype).name)
