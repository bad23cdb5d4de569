"""Tensors of TensorFlow that are NumPy arrays, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

ALIGNED_BYTES = 64
"""A tensor begins at such an address: some operations end the process that gives them another."""


class _Unmarked:
    """The memory of an array that is marked as not to be written: DLPack has no word for that."""

    def __init__(self, array: Any) -> None:
        self._array = array
        where, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (where, False)}


def tensor_of(array: Any) -> Any:
    """A tensor that is this array. Who may not write to the array may not write to the tensor."""
    writable = array if array.flags.writeable else np.asarray(_Unmarked(array))
    with tf.device("CPU:0"):
        return tf.experimental.dlpack.from_dlpack(writable.__dlpack__())


def is_aligned(array: Any) -> bool:
    """Whether its values lie one after the other, from an address at which a tensor may begin."""
    return bool(array.flags.c_contiguous) and array.ctypes.data % ALIGNED_BYTES == 0
