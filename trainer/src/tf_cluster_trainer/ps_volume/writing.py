"""The ps write the rows of large tensors themselves, all at once, each a slice after the other.

What comes to the chief is whether the rows are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import Written, place, size
from tf_cluster_trainer.checkpoint.reading import Rows, read_rows_ops
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.errors import PsVolumeError
from tf_cluster_trainer.ps_volume.reach import ps_files_op
from tf_cluster_trainer.ps_volume.shares import PsShares, Running, task_of
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.servers import ps_files

Write = Callable[[Rows, Sequence[str]], tuple[bytes, Sequence[bool]]]
"""Has the ps of some rows write them; the words are as `write_rows_ops` takes them.

Returns "" or what went wrong, and which of the tensors are finite. Called in threads, one for each
ps. Raises what says that the ps is lost.
"""


class PsWriting:
    """The rows that the ps write, by ps."""

    def __init__(self, rows: Sequence[Rows]) -> None:
        self._shares = PsShares(rows, lambda one: one.device)

    def into(self, directory: Path, write: Write) -> Running[Sequence[Written]]:
        """Have all of it written into the directory.

        Its iterator raises PsVolumeError, and what says that a ps is lost.
        """

        def one(device: str, number: int, rows: Rows) -> Sequence[Written]:
            task = task_of(device)
            name = f"{layout.BUNDLE}{layout.TEMPORARY}{task}-{number}"
            places = [place(one.spec, rows.row, rows.count) for one in rows.family]
            said, finite = write(rows, [str(directory / name), *places])
            if said:
                raise PsVolumeError(f"{task}: {said.decode(errors='replace')}")
            return [_written(name, rows, finite)]

        return self._shares.each(one)


def write_rows_ops(
    family: Sequence[StoredTensor], at: int, start: Any, count: Any, prefix_and_places: Any
) -> tuple[Any, Any]:
    """Operations on a ps that write rows of a part and of its slots; see `read_rows_ops`.

    Returns "" or what went wrong, and for each tensor whether the rows are finite.
    """
    values = read_rows_ops(family, at, start, count)
    with tf.device(family[0].parts[at].device):
        words = tf.concat([prefix_and_places, [one.key for one in family]], 0)
        said = ps_files_op(ps_files.WRITE, words, values)
        return said, tf.stack([_all_finite(value) for value in values])


def _all_finite(value: Any) -> Any:
    if value.dtype.is_complex:
        return _all_finite(tf.math.real(value)) & _all_finite(tf.math.imag(value))
    if value.dtype.is_floating:
        return tf.reduce_all(tf.math.is_finite(value))
    return tf.constant(True)


def _written(name: str, rows: Rows, finite: Sequence[bool]) -> Written:
    keys = [one.key for one in rows.family]
    spec = rows.family[0].spec
    return Written(
        name=name,
        slices=tuple((key, rows.row) for key in keys),
        size=len(keys) * (size(spec) // spec.shape[0]) * rows.count,
        not_finite=tuple(key for key, is_finite in zip(keys, finite, strict=True) if not is_finite),
    )
