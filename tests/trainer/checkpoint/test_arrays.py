"""Tensors that are arrays: which can be, and that a save copies no large piece."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import read as checkpoint_read
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.arrays import ALIGNED_BYTES, is_aligned, tensor_of
from tf_cluster_trainer.checkpoint.pieces import LEAST_BYTES

from tests.trainer.checkpoint.test_checkpoint import write

KEY = "model/table"


def values(rows: int = LEAST_BYTES // 16) -> Any:
    """What TensorFlow has read: no one may write to it."""
    return np.asarray(tf.reshape(tf.range(rows * 4, dtype=tf.float32), (rows, 4)))


def test_a_tensor_is_the_array_that_no_one_may_write_to_and_keeps_it() -> None:
    array = values()
    assert not array.flags.writeable
    expected = array.copy()
    tensor = tensor_of(array)
    assert np.shares_memory(np.asarray(tensor), array)
    del array
    gc.collect()
    np.testing.assert_array_equal(tensor, expected)


def test_an_array_that_may_be_written_to_is_its_tensor_too() -> None:
    array = values().copy()
    assert np.shares_memory(np.asarray(tensor_of(array)), array)


def test_a_tensor_begins_at_an_address_that_operations_take() -> None:
    array = values()
    assert is_aligned(array)
    assert is_aligned(array[ALIGNED_BYTES // 16 :])
    assert not is_aligned(array[1:])
    assert not is_aligned(array.T)
    assert not is_aligned(array[::2])


@pytest.mark.parametrize(
    ("array", "is_copied"),
    [
        (values(), False),
        (values(LEAST_BYTES // 16 + 1)[1:], True),
        (values().T, True),
        (values().astype(np.int32), True),
        (values(LEAST_BYTES // 16 - 1), True),
    ],
    ids=["as it was read", "not aligned", "in columns", "of a type that is not shared", "small"],
)
def test_a_save_copies_no_large_piece_that_can_be_written_as_it_is(
    tmp_path: Path, array: Any, is_copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    save = tf.raw_ops.SaveV2

    def noted(**named: Any) -> Any:
        written.extend(zip(named["tensor_names"], named["tensors"], strict=True))
        return save(**named)

    monkeypatch.setattr(checkpoint_write.tf.raw_ops, "SaveV2", noted)
    path = write(tmp_path, 7, {KEY: array})
    (tensor,) = [tensor for key, tensor in written if key == KEY]
    assert np.shares_memory(np.asarray(tensor), array) is not is_copied
    np.testing.assert_array_equal(checkpoint_read.value(checkpoint_read.read(path), KEY), array)
