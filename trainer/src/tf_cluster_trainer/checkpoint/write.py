"""Writes a checkpoint so that a reader sees it whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from tf_cluster_trainer.checkpoint import record
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.run_directory import layout


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
    tensors = {record.STEP: saved.meta.step, **saved.tensors}
    with tf.init_scope(), tf.device("CPU:0"):
        try:
            tf.raw_ops.SaveV2(
                prefix=str(directory / layout.BUNDLE),
                tensor_names=list(tensors),
                shape_and_slices=[""] * len(tensors),
                tensors=[
                    tf.constant(value, tf.int64) if key == record.STEP else tf.constant(value)
                    for key, value in tensors.items()
                ],
            )
        except tf.errors.OpError as error:
            raise OSError(f"{directory}: {error.message}") from error


def flush(path: Path) -> None:
    """Flush a file, or a directory's names, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
