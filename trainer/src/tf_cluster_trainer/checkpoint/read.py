"""Finds the newest readable checkpoint and compares it with the model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import record
from tf_cluster_trainer.checkpoint.pieces import Piece, packed, piece_bytes, place, size, total
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.run_directory import layout

_BLOCK = 1 << 20


class DamagedError(Exception):
    """Tensors of a checkpoint can't be read, as TensorFlow says; its files may be damaged."""


def newest(
    checkpoints: Path, log: Callable[[str], None], *, slices: bool = True
) -> Checkpoint | None:
    """Return the newest readable checkpoint; None if there is no checkpoint at all.

    `slices` as in `read`. An unreadable checkpoint is logged and renamed, and the one before is
    tried. Raises ProgramError if there are checkpoints and none is readable, OSError if the disk
    fails.
    """
    found = layout.whole_checkpoints(checkpoints)
    unreadable: list[Path] = []
    for step, path in found:
        try:
            whole = _read_again(path, slices)
        except Exception as error:  # meta.json may hold anything
            missing = isinstance(error, FileNotFoundError)
            if isinstance(error, OSError | MemoryError) and not missing:
                raise  # the fault of the disk or of this process, not the checkpoint's
            log(f"the checkpoint of step {step} can't be read ({first_line(error)})")
            unreadable.append(path)
            continue
        for left in unreadable:
            _set_aside(left, log)
        return whole
    if found:
        raise ProgramError(
            f"none of the {len(found)} checkpoints in {checkpoints} can be read; "
            "give the run a new run.id to start afresh"
        )
    return None


def check_model(meta: Meta, model: Mapping[str, TensorSpec]) -> None:
    """Raise ProgramError that names the first variable in which model and checkpoint differ."""
    advice = "give the changed program a new run.id to start afresh"
    for key, spec in model.items():
        saved = meta.tensors.get(key)
        name = key.removeprefix("model/")
        if saved is None:
            raise ProgramError(
                f"the model's variable {name} is not in the checkpoint of step {meta.step}; "
                f"{advice}"
            )
        if saved != spec:
            raise ProgramError(
                f"the model's variable {name} is {_text(spec)}, but {_text(saved)} in the "
                f"checkpoint of step {meta.step}; {advice}"
            )
    for key in meta.tensors:
        if key.startswith("model/") and key not in model:
            raise ProgramError(
                f"the checkpoint of step {meta.step} has a variable "
                f"{key.removeprefix('model/')} that the model has not; {advice}"
            )


def read(path: Path, *, slices: bool = True) -> Checkpoint:
    """Look at every byte of the checkpoint in this directory; return it.

    Without `slices` the tensors that are stored in slices are left to whoever uses them: they are
    the large ones, and reading them has their checksums looked at. If the checkpoint is not whole:
    raises OSError, ValueError, KeyError or DamagedError.
    """
    found = described(path)
    left = () if slices else found.meta.slices
    for some in pieces(found, (key for key in found.meta.tensors if key not in left)):
        del some  # it came through its checksum
    return found


def described(path: Path) -> Checkpoint:
    """The checkpoint in this directory, of which no large tensor is read.

    Raises OSError, ValueError, KeyError or DamagedError.
    """
    found = Checkpoint(record.from_json((path / layout.META).read_text(encoding="utf-8")), path)
    (step,) = _restore(found, [record.STEP], [""], ["int64"])
    if int(step) != found.meta.step:
        raise ValueError(f"{layout.META} is of step {found.meta.step}, the tensors are not")
    return found


def pieces(saved: Checkpoint, keys: Iterable[str]) -> Iterator[Sequence[Piece]]:
    """Read these tensors; `piece_bytes` at a time, or one stored slice. Checks all checksums.

    Raises DamagedError.
    """
    most = piece_bytes(total(saved.meta.tensors.values()))
    stored = itertools.chain.from_iterable(_stored(saved.meta, key) for key in keys)
    for together in packed(stored, lambda one: one.size, most):
        yield _restored(saved, together)


def value(saved: Checkpoint, key: str) -> Any:
    """One tensor, whole. Raises DamagedError."""
    parts = [piece.value for some in pieces(saved, [key]) for piece in some]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True)
class _Stored:
    """What is stored of a tensor in one place: `rows` rows from `first`, or all of it (None)."""

    key: str
    spec: TensorSpec
    first: int | None
    rows: int

    @property
    def size(self) -> int:
        whole = size(self.spec)
        return whole if self.first is None else whole // self.spec.shape[0] * self.rows

    @property
    def place(self) -> str:
        """In the words of RestoreV2."""
        if self.first is None:
            return ""
        return place(self.spec, self.first, self.rows)


def _stored(meta: Meta, key: str) -> Iterator[_Stored]:
    spec, ranges = meta.tensors[key], meta.ranges(key)
    if not ranges:
        yield _Stored(key, spec, None, 0)
    for first, end in ranges:
        yield _Stored(key, spec, first, end - first)


def _restored(saved: Checkpoint, stored: Sequence[_Stored]) -> list[Piece]:
    values = _restore(
        saved,
        [one.key for one in stored],
        [one.place for one in stored],
        [one.spec.dtype for one in stored],
    )
    found = []
    for one, tensor in zip(stored, values, strict=True):
        shape = one.spec.shape if one.first is None else (one.rows, *one.spec.shape[1:])
        if tuple(tensor.shape) != shape:
            raise DamagedError(f"{one.key} has shape {tuple(tensor.shape)}, not {shape}")
        found.append(Piece(one.key, np.asarray(tensor), one.first))
    return found


def _restore(
    saved: Checkpoint, keys: Sequence[str], places: Sequence[str], dtypes: Sequence[str]
) -> list[Any]:
    with tf.init_scope(), tf.device("CPU:0"):
        try:
            found: list[Any] = tf.raw_ops.RestoreV2(
                prefix=str(saved.path / layout.BUNDLE),
                tensor_names=[*keys],
                shape_and_slices=[*places],
                dtypes=[tf.as_dtype(dtype) for dtype in dtypes],
            )
        except tf.errors.ResourceExhaustedError as error:
            raise MemoryError(error.message) from error
        except tf.errors.OpError as error:
            raise DamagedError(f"{saved.path}: {error.message}") from error
    return found


def _read_again(path: Path, slices: bool) -> Checkpoint:
    """Like `read`, with a second try.

    TensorFlow's errors do not tell a damaged file from a failing disk. Python's do, so Python reads
    all files between the two tries.
    """
    try:
        return read(path, slices=slices)
    except Exception:
        for file in path.iterdir():
            with file.open("rb") as stream:
                while stream.read(_BLOCK):
                    pass
        return read(path, slices=slices)


def _set_aside(path: Path, log: Callable[[str], None]) -> None:
    aside = path.with_name(path.name + layout.UNREADABLE)
    before = [
        number
        for _, number, one in layout.unreadable_checkpoints(path.parent)
        if one.name.startswith(aside.name)
    ]
    if before:  # the same step was damaged before
        aside = path.with_name(f"{aside.name}-{max(before) + 1}")
    path.rename(aside)
    log(
        f"{path.name} is set aside as {aside}; the one before is used. It may be deleted: of such "
        "checkpoints the trainer keeps the one of the latest step, until somebody deletes it"
    )


def _text(spec: TensorSpec) -> str:
    return f"{spec.dtype}{list(spec.shape)}"


def first_line(error: Exception) -> str:
    """The first line of an error, or else its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]
