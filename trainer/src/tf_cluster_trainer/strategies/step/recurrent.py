"""Lets LSTM and GRU compute with kernels that are cut in parts.

tf_keras gives a kernel's value to a function of its own. It reads the value of a variable, but
passes a variable in parts on as it is, and no function takes such an argument: "Called a function
referencing variables which have been deleted".
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_keras.src.layers.rnn import gru_lstm_utils

_read_whole = gru_lstm_utils.read_variable_value


def read_parts_too() -> None:
    """From now on those layers read a variable in parts as they read a whole one."""
    gru_lstm_utils.read_variable_value = _read


def _read(value: Any) -> Any:
    # The parts together; each is read where tf.Variable's own value would be.
    return tf.convert_to_tensor(value) if isinstance(value, ShardedVariable) else _read_whole(value)
