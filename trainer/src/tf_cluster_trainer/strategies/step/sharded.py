"""Lets a variable that is cut in parts compute what a whole one does.

TensorFlow's ShardedVariable looks rows up in the order of its parts, not of the ids (tf.gather), or
finds other rows than those of the whole (lookups of TensorFlow 1, whose parts take turns). It has
no method that reads all of it, and takes its parts for the variables of `tf.identity`. tf_keras
has a regularizer look at each part by itself, which is right for sums alone, and passes LSTM's and
GRU's kernels on as they are, which no function takes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable, ShardedVariableMixin
from tf_keras.src.layers.rnn import gru_lstm_utils

from tf_cluster_trainer.strategies.step import lookups, weight_lists

_SUMS = tuple(getattr(tf_keras.regularizers, name) for name in ("L1", "L2", "L1L2"))
_read_whole = gru_lstm_utils.read_variable_value
_regularize = tf_keras.layers.Layer._handle_weight_regularization


@cache
def install() -> None:
    """From now on, in this process."""
    ShardedVariableMixin.sparse_read = _sparse_read
    ShardedVariableMixin.gather_nd = _gather_nd
    ShardedVariableMixin.read_value = ShardedVariableMixin.value = _value
    ShardedVariableMixin.numpy = lambda self: _value(self).numpy()
    ShardedVariableMixin.__array__ = _array
    for operation in (tf.identity, tf.stop_gradient):
        _compute_with_values(operation)
    gru_lstm_utils.read_variable_value = _read
    tf_keras.layers.Layer._handle_weight_regularization = _handle_weight_regularization
    lookups.dispatch(_look_up, ShardedVariable)
    lookups.dispatch(_look_up_in_a_list, list[ShardedVariable])
    weight_lists.install()


def _value(self: Any) -> Any:
    return tf.convert_to_tensor(self)


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    return np.asarray(_value(self), dtype)


def _compute_with_values(operation: Any) -> None:
    def compute(input: Any, name: str | None = None) -> Any:  # TensorFlow's own name
        return operation(tf.convert_to_tensor(input), name)

    tf.experimental.dispatch_for_api(operation, {"input": ShardedVariable})(compute)


def _look_up(variable: Any, ids: Any, partition_strategy: str = "div", **more: Any) -> Any:
    return tf.nn.embedding_lookup([*variable.variables], ids, **more)


def _look_up_in_a_list(
    variables: list[Any], ids: Any, partition_strategy: str = "mod", **more: Any
) -> Any:
    if len(variables) == 1:
        return _look_up(variables[0], ids, **more)
    ids = tf.convert_to_tensor(ids)
    asked = tf.reshape(ids, [-1])
    rows = [int(one.shape[0]) for one in variables]
    table, row = _table_and_row(asked, rows, partition_strategy)
    places = tf.dynamic_partition(tf.range(tf.size(asked)), table, len(rows))
    found = [
        _look_up(one, tf.gather(row, at), **more) for one, at in zip(variables, places, strict=True)
    ]
    together = tf.dynamic_stitch(places, found)
    return tf.reshape(together, tf.concat([tf.shape(ids), tf.shape(found[0])[1:]], 0))


def _table_and_row(ids: Any, rows: list[int], partition_strategy: str) -> tuple[Any, Any]:
    """In which of the tables each id is, and its row there: as TensorFlow 1 has it."""
    tables = tf.constant(len(rows), ids.dtype)
    if partition_strategy == "mod":
        return tf.cast(ids % tables, tf.int32), ids // tables
    # The first tables have a row more.
    least, more = divmod(sum(rows), len(rows))
    table = tf.maximum(ids // (least + 1), (ids - more) // least)
    row = tf.where(table < more, ids % (least + 1), (ids - more) % least)
    return tf.cast(table, tf.int32), row


def _sparse_read(self: Any, indices: Any, name: str | None = None) -> Any:
    return _look_up(self, indices, name=name)


def _gather_nd(self: Any, indices: Any, name: str | None = None) -> Any:
    indices = tf.convert_to_tensor(indices)
    rows = _look_up(self, indices[..., 0])
    if indices.shape[-1] == 1:
        return rows
    return tf.gather_nd(rows, indices[..., 1:], batch_dims=indices.shape.rank - 1, name=name)


def _read(value: Any) -> Any:
    # The parts together; each is read where tf.Variable's own value would be.
    return tf.convert_to_tensor(value) if isinstance(value, ShardedVariable) else _read_whole(value)


def _handle_weight_regularization(self: Any, name: str, variable: Any, regularizer: Any) -> None:
    if not isinstance(variable, ShardedVariable) or type(regularizer) in _SUMS:
        _regularize(self, name, variable, regularizer)
        return

    def loss() -> Any:
        with tf.name_scope(f"{name}/Regularizer"):
            return regularizer(tf.convert_to_tensor(variable))

    self.add_loss(loss)
