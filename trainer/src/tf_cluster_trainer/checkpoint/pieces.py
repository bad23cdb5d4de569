"""Tensors a piece at a time, so that a task holds few of them at once.

A piece is a whole tensor, or some rows of a large one. Pieces that belong together (a variable and
its slots) come together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import tensorflow as tf

from tf_cluster_trainer.checkpoint.record import TensorSpec

Item = TypeVar("Item")
PIECE_BYTES = 32 << 20
LEAST_BYTES = 1 << 20
"""A tensor with fewer is never cut."""
_MOST_PIECES = 1000
# Types of which TensorFlow reads any slice of a checkpoint, and assigns rows on every device.
_CUT = (
    *("float32", "float64", "bfloat16", "complex64", "complex128"),
    *("int8", "int16", "int64", "uint8", "bool"),
)


@dataclass(frozen=True)
class Piece:
    """A NumPy array: the rows of a tensor that begin at `first`, or all of it where that is None.

    No one may write to `value`.
    """

    key: str
    value: Any
    first: int | None = None


class State(Protocol):
    """The state of a run, which can be read while it is trained."""

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The tensors of a checkpoint, by key."""

    def pieces(self) -> Iterator[Sequence[Piece]]:
        """Read all of it. Each time about `PIECE_BYTES` come, or one tensor that can't be cut."""


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


def packed(
    items: Iterable[Item], size_of: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """The items in their order, as many together as have `most` bytes at most, or one alone."""
    held: list[Item] = []
    room = most
    for one in items:
        if held and size_of(one) > room:
            yield held
            held, room = [], most
        held.append(one)
        room -= size_of(one)
    if held:
        yield held


def cut(piece: Piece, most: int) -> Iterator[Piece]:
    """The piece as pieces of at most so many bytes, or of one row."""
    value, first = piece.value, piece.first or 0
    if value.nbytes <= most or not value.ndim or len(value) == 1:
        yield piece
        return
    rows = max(1, most // (value.nbytes // len(value)))
    for at in range(0, len(value), rows):
        yield Piece(piece.key, value[at : at + rows], first + at)


def place(spec: TensorSpec, first: int, rows: int) -> str:
    """Rows of a tensor in the words of TensorFlow's SaveV2 and RestoreV2."""
    ranges = [f"{first},{rows}", *(f"0,{size}" for size in spec.shape[1:])]
    return f"{' '.join(map(str, spec.shape))} {':'.join(ranges)}"
