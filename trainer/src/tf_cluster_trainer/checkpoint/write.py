"""Writes a checkpoint so that a reader sees it whole or not at all."""

from __future__ import annotations

import itertools
import shutil
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import record
from tf_cluster_trainer.checkpoint.arrays import is_aligned, tensor_of
from tf_cluster_trainer.checkpoint.pieces import (
    LEAST_BYTES,
    Piece,
    Written,
    can_be_mapped,
    can_be_shared,
    cut,
    packed,
    piece_bytes,
    place,
    total,
)
from tf_cluster_trainer.checkpoint.record import Meta, TensorSpec
from tf_cluster_trainer.errors import PsVolumeError
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.flushing import FlushingBeside, flush

_STEP = TensorSpec((), "int64")


def temporary_of(checkpoints: Path, step: int) -> Path:
    """A directory, not there yet, in which the checkpoint of this step may be written."""
    return _beside(checkpoints / layout.checkpoint_name(step))


def write(
    meta: Meta,
    pieces: Iterable[Sequence[Piece | Written]],
    temporary: Path,
    *,
    check_owner: Callable[[], None],
) -> Path:
    """Write, flush to disk, rename into place, and return the checkpoint's directory.

    `temporary` comes from `temporary_of`. `pieces` are all tensors that `meta` names; what raises
    while they come leaves no file. `check_owner` raises if another attempt owns the run; it is
    called before the first and before the last write. Raises OSError if the disk refuses a write.
    Uses only this process' CPU and makes no graph, so repeated saves from one thread cost no
    memory.
    """
    check_owner()
    checkpoints = temporary.parent
    final = checkpoints / layout.checkpoint_name(meta.step)
    temporary.mkdir(parents=True)
    try:
        with FlushingBeside() as flushing:
            whole = _bundle(meta, pieces, temporary, flushing)
        (temporary / layout.META).write_text(record.to_json(whole), encoding="utf-8")
        for path in (*temporary.iterdir(), temporary):
            flush(path)
        check_owner()
        if _has_meta(final):
            # Never replace a whole checkpoint by another of the same step: it may be the only one.
            shutil.rmtree(temporary, ignore_errors=True)
            return final
        if final.exists():
            final.rename(_beside(final))
        temporary.rename(final)
        flush(checkpoints)
    except BaseException:
        if isinstance(pieces, Generator):
            pieces.close()  # what is under way would write into the directory again
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return final


def prune(checkpoints: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints, and what `remove_left` removes."""
    remove_left(checkpoints)
    for _, path in layout.whole_checkpoints(checkpoints)[keep:]:
        partial = _beside(path)
        with suppress(OSError):  # the next time, then
            path.rename(partial)  # a task that is killed half-way leaves none that seems whole
        shutil.rmtree(partial, ignore_errors=True)


def remove_left(checkpoints: Path) -> None:
    """Remove partial checkpoints, and all unreadable ones but the newest.

    Only the run's owner may call it, who has read a whole one.
    """
    unreadable = [path for _, _, path in layout.unreadable_checkpoints(checkpoints)]
    for path in (*checkpoints.glob(f"*{layout.TEMPORARY}*"), *unreadable[1:]):
        shutil.rmtree(path, ignore_errors=True)


def _beside(final: Path) -> Path:
    return final.with_name(f"{final.name}{layout.TEMPORARY}{uuid.uuid4().hex[:8]}")


def _has_meta(path: Path) -> bool:
    try:
        record.from_json((path / layout.META).read_text(encoding="utf-8"))
    except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, OSError) and not isinstance(
            error, FileNotFoundError | NotADirectoryError
        ):
            raise
        return False
    return True


def _bundle(
    meta: Meta,
    pieces: Iterable[Sequence[Piece | Written]],
    directory: Path,
    flushing: FlushingBeside,
) -> Meta:
    """Write all tensors as one bundle, a data file at a time: an operation copies what it writes.

    Each is flushed while the next ones are read and written. Returns `meta` with the slices as they
    were written. The files of the ps come last.
    """
    names: list[str] = []
    slices: dict[str, list[int]] = {}
    files: dict[str, list[int]] = {}
    step = Piece(record.STEP, np.int64(meta.step))
    begins_file = _begins_file(meta)
    by_ps: list[Written] = []
    coming = itertools.chain([step], _pieces_of_this_task(pieces, by_ps))
    for number, held in enumerate(_files(coming, meta, begins_file)):
        names.append(str(directory / f"{layout.BUNDLE}{layout.TEMPORARY}{number}"))
        for one in held:
            if one.first is not None:
                slices.setdefault(one.key, []).append(one.first)
        if begins_file(held[0].key):
            files.setdefault(held[0].key, []).append(number)
        with _on_the_disk(directory):
            tf.raw_ops.SaveV2(
                prefix=names[-1],
                tensor_names=[one.key for one in held],
                shape_and_slices=[_place(one, meta) for one in held],
                tensors=[_tensor(one.value) for one in held],
            )
        flushing.begin(Path(f"{names[-1]}{layout.ONE_DATA_FILE}"))
    for written in sorted(by_ps, key=lambda one: one.slices):
        _check_size(directory, written)
        for key, first in written.slices:
            slices.setdefault(key, []).append(first)
        begins = written.slices[0][0]
        if begins_file(begins):
            files.setdefault(begins, []).append(len(names))
        names.append(str(directory / written.name))
    flushing.settle()  # the next operation gives the files other names
    with _on_the_disk(directory):
        tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=names,
            destination_prefix=str(directory / layout.BUNDLE),
            delete_old_dirs=False,
        )
    return replace(
        meta,
        slices={key: tuple(first) for key, first in slices.items()},
        files={key: tuple(numbers) for key, numbers in files.items()},
    )


def _tensor(value: Any) -> Any:
    """The value of a piece as a tensor, in most cases without a copy of a large one.

    The pages of such a copy are new ones: it takes longer than the checksum and the write.
    """
    spec = TensorSpec(value.shape, value.dtype.name)
    if value.nbytes >= LEAST_BYTES and can_be_shared(spec) and is_aligned(value):
        return tensor_of(value)
    return tf.constant(value)


@contextmanager
def _on_the_disk(directory: Path) -> Iterator[None]:
    """Operations on this process' CPU; what they raise is an OSError."""
    with tf.init_scope(), tf.device("CPU:0"):
        try:
            yield
        except tf.errors.OpError as error:
            raise OSError(f"{directory}: {error.message}") from error


def _pieces_of_this_task(
    pieces: Iterable[Sequence[Piece | Written]], by_ps: list[Written]
) -> Iterator[Piece]:
    """The pieces that this task has to write; the others go to `by_ps`."""
    for one in itertools.chain.from_iterable(pieces):
        if isinstance(one, Written):
            by_ps.append(one)
        else:
            yield one


def _check_size(directory: Path, written: Written) -> None:
    """Raise PsVolumeError if this task does not see all that a ps wrote."""
    try:
        found = (directory / written.file).stat().st_size
    except OSError as error:
        raise PsVolumeError(f"what a ps wrote is not there: {error}") from error
    if found != written.size:
        raise PsVolumeError(
            f"{directory / written.file} has {found} bytes, but a ps wrote {written.size}"
        )


def _files(
    pieces: Iterable[Piece], meta: Meta, begins_file: Callable[[str], bool]
) -> Iterator[list[Piece]]:
    """What to write into each data file: about `piece_bytes` at most, more of one row alone.

    The files are merged in this order, and a slice that may be mapped is the first of its file.
    """
    most = piece_bytes(total(meta.tensors.values()))

    def small(piece: Piece) -> Iterator[Piece]:
        return cut(piece, meta.tensors.get(piece.key, _STEP), most)

    each = itertools.chain.from_iterable(map(small, pieces))
    return packed(
        each,
        lambda one: int(one.value.nbytes),
        most,
        begins=lambda one: begins_file(one.key),
    )


def _begins_file(meta: Meta) -> Callable[[str], bool]:
    """Whether each slice of the tensor of this key begins a data file."""
    whole = total(meta.tensors.values())
    found = {key for key, spec in meta.tensors.items() if can_be_mapped(key, spec, whole)}
    return found.__contains__


def _place(piece: Piece, meta: Meta) -> str:
    """Which part of its tensor a piece is; "" is all of it."""
    if piece.first is None:
        return ""
    return place(meta.tensors[piece.key], piece.first, len(piece.value))
