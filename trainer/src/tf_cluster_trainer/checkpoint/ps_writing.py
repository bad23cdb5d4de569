"""The ps write the rows of large tensors themselves, all at once, each a slice after the other.

Only where they reach the run's directory (ps_reach.py). What comes to the chief is whether the rows
are finite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import Written, place, size
from tf_cluster_trainer.checkpoint.ps_shares import PsShares
from tf_cluster_trainer.checkpoint.reading import Rows, read_rows_ops
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.errors import PsVolumeError
from tf_cluster_trainer.run_directory import layout


@dataclass(frozen=True)
class Order:
    """What a ps is to write: these rows, into the data file of this prefix."""

    rows: Rows
    prefix: str
    places: tuple[str, ...]


class PsWriting:
    """Drives the writing. `write` returns for each tensor of an order whether it is finite.

    `flush` has a device flush these files, and returns "" or what went wrong. Both are called in
    threads, one for each ps, and raise what the ps or the connection raises.
    """

    def __init__(
        self,
        rows: Sequence[Rows],
        write: Callable[[Order], Sequence[bool]],
        flush: Callable[[str, Sequence[str]], bytes],
    ) -> None:
        self._shares = PsShares(rows, lambda one: one.device)
        self._write = write
        self._flush = flush

    def into(self, directory: Path) -> Iterator[list[Written]]:
        """Have all of it written into the directory; yields what a ps is through with.

        Raises PsVolumeError, and what says that a ps is lost.
        """

        def share(device: str, rows: Iterator[tuple[int, Rows]]) -> list[Written]:
            with _naming(device, directory):
                found = [self._one(directory, device, *numbered) for numbered in rows]
                paths = [str(directory / one.file) for one in found]
                wrong = self._flush(device, [*paths, str(directory)])
            if wrong:
                raise PsVolumeError(f"{_task(device)}: {wrong.decode(errors='replace')}")
            return found

        for _, written in self._shares.each(share):
            yield written

    def _one(self, directory: Path, device: str, number: int, rows: Rows) -> Written:
        name = f"{layout.BUNDLE}{layout.TEMPORARY}{_task(device)}-{number}"
        places = tuple(place(one.spec, rows.row, rows.count) for one in rows.family)
        return _written(name, rows, self._write(Order(rows, str(directory / name), places)))


def write_rows_ops(
    family: Sequence[StoredTensor], at: int, start: Any, count: Any, prefix: Any, places: Any
) -> Any:
    """Operations on a ps that write rows of a part and of its slots; see `read_rows_ops`.

    Returns for each tensor whether they are finite.
    """
    values = read_rows_ops(family, at, start, count)
    with tf.device(family[0].parts[at].device):
        saved = tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=[one.key for one in family],
            shape_and_slices=places,
            tensors=values,
        )
        # In a function it would not run by itself.
        with tf.control_dependencies([saved]):
            return tf.stack([_all_finite(value) for value in values])


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


@contextmanager
def _naming(device: str, directory: Path) -> Iterator[None]:
    """Inside this context TensorFlow's errors about files there become PsVolumeError."""
    try:
        yield
    except tf.errors.OpError as error:
        # Before the file's name are names of functions, and around it errors of other operations.
        named = re.search(rf"{re.escape(str(directory))}[^\n\[]*", error.message)
        if named is None:
            raise
        raise PsVolumeError(f"{_task(device)}: {named[0].strip()}") from error


def _task(device: str) -> str:
    """`ps-0` of a ps' device."""
    found = tf.DeviceSpec.from_string(device)
    return f"{found.job}-{found.task}"
