"""Tensors a piece at a time, so that a task holds few of them at once.

A piece is a whole tensor, or some rows of a large one. Pieces that belong together (a variable and
its slots) come together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import tensorflow as tf

from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.run_directory import layout

Item = TypeVar("Item")
PIECE_BYTES = 32 << 20
LEAST_BYTES = 1 << 20
"""A tensor with fewer is never cut."""
SMALL_STATE_BYTES = 256 << 20
"""A state of up to so many bytes may be in memory once more."""
LEAST_MAPPED_BYTES = 4 << 20
PAGE_BYTES = 4096
MOST_SLOTS = 2
"""The most that an optimizer keeps beside a variable; their rows are read together."""
PART_BYTES = 1 << 30
"""The most of a part of a variable that has more rows: there are more parts than ps then."""
_MOST_PIECES = 1000
# Types of which TensorFlow reads any slice of a checkpoint, and assigns rows on every device.
_CUT = (
    *("float32", "float64", "bfloat16", "complex64", "complex128"),
    *("int8", "int16", "int64", "uint8", "bool"),
)
# Types that DLPack and TensorFlow give each other without a copy.
_SHARED = ("float32", "float64", "complex64", "complex128", "int8", "int16", "int64", "uint8")


@dataclass(frozen=True)
class Piece:
    """A NumPy array: the rows of a tensor that begin at `first`, or all of it where that is None.

    No one may write to `value`.
    """

    key: str
    value: Any
    first: int | None = None


@dataclass(frozen=True)
class Written:
    """Rows of tensors that a ps wrote, as a bundle of its own beside this checkpoint's.

    `name` is the bundle's. `slices` are keys and first rows in the order in which the data file has
    them, `size` their bytes. `not_finite` are the keys of tensors with a NaN or an infinity.
    """

    name: str
    slices: tuple[tuple[str, int], ...]
    size: int
    not_finite: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of the data file."""
        return f"{self.name}{layout.ONE_DATA_FILE}"


class State(Protocol):
    """The state of a run, which can be read while it is trained."""

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The tensors of a checkpoint, by key."""

    def pieces(self, into: Path | None = None) -> Iterator[Sequence[Piece | Written]]:
        """Read all of it. Each time about `PIECE_BYTES` come, or one tensor that can't be cut.

        Where the ps reach the directory `into`, they write rows of large tensors there. Then it
        raises PsVolumeError.
        """


def size(spec: TensorSpec) -> int:
    """Bytes of a tensor; 0 of one of strings, whose bytes are not known."""
    return math.prod(spec.shape) * int(tf.as_dtype(spec.dtype).size or 0)


def total(specs: Iterable[TensorSpec]) -> int:
    """Bytes of all of them."""
    return sum(map(size, specs))


def can_be_cut(spec: TensorSpec) -> bool:
    """Whether its rows may be in several pieces, here and in a checkpoint."""
    return len(spec.shape) > 0 and spec.dtype in _CUT and size(spec) >= LEAST_BYTES


def piece_bytes(whole: int) -> int:
    """Bytes of a piece of a state that has so many: more where the pieces would be too many."""
    return max(PIECE_BYTES, math.ceil(whole / _MOST_PIECES))


def is_small(whole: int) -> bool:
    """Whether a state of so many bytes is small enough for a copy in memory."""
    return whole <= SMALL_STATE_BYTES


def can_be_shared(spec: TensorSpec) -> bool:
    """Whether an array of this kind can be a tensor of TensorFlow without a copy."""
    return spec.dtype in _SHARED


def can_be_mapped(key: str, spec: TensorSpec, whole: int) -> bool:
    """Whether readers of a model may use this tensor's slices as pages of the checkpoint's files.

    `whole`: bytes of the state. Each such slice begins a data file, so they must not be too many.
    Each must begin where a page of the tensor does, which no slice of a few wide rows can.
    """
    if is_small(whole) or not key.startswith("model/") or not can_be_shared(spec):
        return False
    if size(spec) < max(LEAST_MAPPED_BYTES, math.ceil(whole / _MOST_PIECES)):
        return False
    row_bytes, most = row_size(spec), piece_bytes(whole) // (1 + MOST_SLOTS)
    return size(spec) <= most or page_rows(row_bytes) <= most_rows(row_bytes, most)


def beside_pages(spec: TensorSpec, parts: int) -> int:
    """The most bytes of a tensor that a reader must copy although it is mapped.

    A part of it on a ps may begin within a page: its first rows are not mapped, up to one that
    begins a page. There are at most so many `parts`, more where they would be above PART_BYTES.
    """
    row_bytes = row_size(spec)
    parts = max(parts, 2 * math.ceil(size(spec) / PART_BYTES) - 1)
    return min(size(spec), (parts - 1) * (page_rows(row_bytes) - 1) * row_bytes)


def row_size(spec: TensorSpec) -> int:
    """Bytes of a row; of all of it if it has no rows."""
    return size(spec) // max(1, spec.shape[0] if spec.shape else 1)


def page_rows(row_bytes: int) -> int:
    """The least rows of so many bytes that are whole pages."""
    return PAGE_BYTES // math.gcd(row_bytes, PAGE_BYTES)


def most_rows(row_bytes: int, most: int) -> int:
    """The rows of a slice of at most so many bytes, or one."""
    return max(1, most // max(row_bytes, 1))


def packed(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    most: int,
    begins: Callable[[Item], bool] = lambda one: False,
) -> Iterator[list[Item]]:
    """The items in their order, as many together as have `most` bytes at most, or one alone.

    An item that `begins` one is the first of its group.
    """
    held: list[Item] = []
    room = most
    for one in items:
        if held and (size_of(one) > room or begins(one)):
            yield held
            held, room = [], most
        held.append(one)
        room -= size_of(one)
    if held:
        yield held


def cut(piece: Piece, spec: TensorSpec, most: int) -> Iterator[Piece]:
    """The piece of such a tensor as slices of at most so many bytes; whole if it can't be cut."""
    value, first = piece.value, piece.first or 0
    if not can_be_cut(spec) or value.nbytes <= most or len(value) == 1:
        yield piece
        return
    for start, rows in slices(first, first + len(value), value.nbytes // len(value), most):
        yield Piece(piece.key, value[start - first : start - first + rows], start)


def slices(first: int, end: int, row_bytes: int, most: int) -> Iterator[tuple[int, int]]:
    """The first row and the number of rows of slices of a tensor's rows from `first` to `end`.

    A slice has at most so many bytes, or one row. It is whole pages of the tensor, where so many
    bytes have as many.
    """
    at_most, unit = most_rows(row_bytes, most), page_rows(row_bytes)
    while first < end:
        rows = at_most
        if unit <= at_most:
            rows = unit - first % unit if first % unit else at_most - at_most % unit
        yield first, min(rows, end - first)
        first += rows


def place(spec: TensorSpec, first: int, rows: int) -> str:
    """Rows of a tensor in the words of TensorFlow's SaveV2 and RestoreV2."""
    ranges = [f"{first},{rows}", *(f"0,{size}" for size in spec.shape[1:])]
    return f"{' '.join(map(str, spec.shape))} {':'.join(ranges)}"
