"""The ps read their own rows of large tensors from a checkpoint, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.stored_rows import StoredRows
from tf_cluster_trainer.checkpoint.variables import StoredTensor, end_rows, put_rows
from tf_cluster_trainer.ps_volume.shares import PsShares
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.servers.lost import is_peer_lost

_OF_A_CALL = (tf.errors.CancelledError, tf.errors.DeadlineExceededError)


def read(
    saved: Checkpoint, rows: Sequence[StoredRows], read_one: Callable[[StoredRows, str], None]
) -> None:
    """Have the ps read these rows of a checkpoint.

    `read_one` has a ps read rows from the bundle of this prefix, in threads, one for each ps.
    Raises OSError if a ps can't, and what says that a ps is lost.
    """
    prefix = str(saved.path / layout.BUNDLE)
    shares = PsShares(rows, lambda one: str(one.stored.parts[one.at].device))
    try:
        for _ in shares.each(lambda _, __, one: read_one(one, prefix)):
            pass
    except tf.errors.OpError as error:
        # A file that is too short is told without its name.
        if prefix not in error.message and (isinstance(error, _OF_A_CALL) or is_peer_lost(error)):
            raise
        raise OSError(f"{saved.path}: {error.message}") from error


def restore_rows_op(stored: StoredTensor, at: int, prefix: Any, where: Any, start: Any) -> Any:
    """An operation on a ps that reads rows and assigns them from row `start` of the part."""
    part, shape = stored.parts[at], stored.spec.shape
    with tf.device(part.device):
        (value,) = tf.raw_ops.RestoreV2(
            prefix=prefix,
            tensor_names=[stored.key],
            shape_and_slices=[where],
            dtypes=[tf.as_dtype(stored.spec.dtype)],
        )
        value = tf.ensure_shape(value, [None, *shape[1:]])
        indices = tf.range(start, start + tf.shape(value, tf.int64)[0])
        with tf.control_dependencies([put_rows(part, indices, value)]):
            ended = end_rows(part)
        with tf.control_dependencies([] if ended is None else [ended]):
            return tf.identity(start)
