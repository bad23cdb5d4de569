"""Which rows of large tensors each part has of what a checkpoint stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tf_cluster_trainer.checkpoint.pieces import can_be_cut, place
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.variables import StoredTensor, in_parts


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
        StoredRows(one, at, row_in_part, low, high - low)
        for one in stored
        if can_be_cut(one.spec)
        for first, end in saved.meta.ranges(one.key)
        for at, row_in_part, low, high in in_parts(one, first, end)
    ]
