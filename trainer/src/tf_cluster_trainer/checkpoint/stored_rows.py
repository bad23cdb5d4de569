"""Which rows of large tensors each part has of what a checkpoint stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tf_cluster_trainer.checkpoint.pieces import can_be_cut, place
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.variables import StoredTensor


@dataclass(frozen=True)
class StoredRows:
    """`count` rows of one stored slice that the part `at` of a tensor has.

    They begin at `row_in_part`, which is `row` of the whole tensor.
    """

    stored: StoredTensor
    at: int
    row_in_part: int
    row: int
    count: int

    @property
    def place(self) -> str:
        """In the words of RestoreV2."""
        return place(self.stored.spec, self.row, self.count)


def rows_of(saved: Checkpoint, stored: Iterable[StoredTensor]) -> list[StoredRows]:
    """The rows of these tensors that ps can read: those that are stored in slices."""
    return [
        rows
        for one in stored
        if can_be_cut(one.spec) and one.key in saved.meta.slices
        for rows in _rows(one, saved.meta.slices[one.key])
    ]


def _rows(stored: StoredTensor, begins: Sequence[int]) -> Iterator[StoredRows]:
    """What each part has of each slice, in the order of the rows."""
    part_begins = 0
    ends = (*begins[1:], stored.spec.shape[0])
    for at, part in enumerate(stored.parts):
        part_ends = part_begins + part.shape[0]
        for first, end in zip(begins, ends, strict=True):
            low, high = max(first, part_begins), min(end, part_ends)
            if low < high:
                yield StoredRows(stored, at, low - part_begins, low, high - low)
        part_begins = part_ends
