"""Writes a checkpoint so that a reader sees it whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import record
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.run_directory import layout

SLICE_BYTES = 64 << 20
# TensorFlow reads no slices of these types.
_NEVER_SLICED = ("float16", "uint64", "object")


def write(saved: Checkpoint, checkpoints: Path, *, check_owner: Callable[[], None]) -> Path:
    """Write, flush to disk, rename into place, and return the checkpoint's directory.

    `check_owner` raises if another attempt owns the run; it is called before the first and before
    the last write. Raises OSError if the disk refuses a write. Uses only this process' CPU and
    makes no graph, so repeated saves from one thread cost no memory.
    """
    check_owner()
    final = checkpoints / layout.checkpoint_name(saved.meta.step)
    temporary = checkpoints / f"{final.name}{layout.TEMPORARY}{uuid.uuid4().hex[:8]}"
    temporary.mkdir(parents=True)
    try:
        _bundle(saved, temporary)
        meta = temporary / layout.META
        meta.write_text(record.to_json(saved.meta), encoding="utf-8")
        for path in (*temporary.iterdir(), temporary):
            flush(path)
        check_owner()
        if _has_meta(final):
            # Never replace a whole checkpoint by another of the same step: it may be the only one.
            shutil.rmtree(temporary, ignore_errors=True)
            return final
        if final.exists():
            final.rename(final.with_name(f"{final.name}{layout.TEMPORARY}{uuid.uuid4().hex[:8]}"))
        temporary.rename(final)
        flush(checkpoints)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return final


def prune(checkpoints: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints, and all partial ones."""
    remove_partial(checkpoints)
    for _, path in layout.whole_checkpoints(checkpoints)[keep:]:
        shutil.rmtree(path, ignore_errors=True)


def remove_partial(checkpoints: Path) -> None:
    """Remove partial checkpoints. Only the run's owner may call it."""
    for path in checkpoints.glob(f"*{layout.TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def _has_meta(path: Path) -> bool:
    try:
        record.from_json((path / layout.META).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def _bundle(saved: Checkpoint, directory: Path) -> None:
    """Write all tensors as one bundle, a slice at a time: an operation copies what it writes."""
    tensors = {record.STEP: np.int64(saved.meta.step), **saved.tensors}
    files = list(_files(tensors))
    names = [layout.BUNDLE]
    if len(files) > 1:
        names = [f"{layout.BUNDLE}{layout.TEMPORARY}{number}" for number in range(len(files))]
    with tf.init_scope(), tf.device("CPU:0"):
        try:
            for name, slices in zip(names, files, strict=True):
                tf.raw_ops.SaveV2(
                    prefix=str(directory / name),
                    tensor_names=[one.key for one in slices],
                    shape_and_slices=[one.place for one in slices],
                    tensors=[tf.constant(one.value) for one in slices],
                )
            if len(files) > 1:
                tf.raw_ops.MergeV2Checkpoints(
                    checkpoint_prefixes=[str(directory / name) for name in names],
                    destination_prefix=str(directory / layout.BUNDLE),
                    delete_old_dirs=False,
                )
        except tf.errors.OpError as error:
            raise OSError(f"{directory}: {error.message}") from error


@dataclass(frozen=True)
class _Slice:
    """Rows of a tensor, and which they are, in the words of SaveV2; "" is all of it."""

    key: str
    place: str
    value: Any


def _files(tensors: Mapping[str, Any]) -> Iterator[list[_Slice]]:
    """What to write into each data file: about `SLICE_BYTES` at most, more of one row alone."""
    held: list[_Slice] = []
    size = 0
    for key, value in tensors.items():
        for one in _slices(key, value):
            if held and size + one.value.nbytes > SLICE_BYTES:
                yield held
                held, size = [], 0
            held.append(one)
            size += one.value.nbytes
    yield held


def _slices(key: str, value: Any) -> Iterator[_Slice]:
    if value.nbytes <= SLICE_BYTES or value.dtype.name in _NEVER_SLICED or not value.ndim:
        yield _Slice(key, "", value)
        return
    shape, rows = value.shape, max(1, SLICE_BYTES // (value.nbytes // value.shape[0]))
    for first in range(0, shape[0], rows):
        part = value[first : first + rows]
        ranges = [f"{first},{len(part)}", *(f"0,{size}" for size in shape[1:])]
        yield _Slice(key, f"{' '.join(map(str, shape))} {':'.join(ranges)}", part)


def flush(path: Path) -> None:
    """Flush a file, or a directory's names, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
