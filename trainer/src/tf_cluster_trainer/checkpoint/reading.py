"""Reads a run's state from the variables that hold it, some of it at a time.

The groups and rows to read together are planned once. `VariableState` reads them eagerly; a graph
of TensorFlow 1 uses `read_ops` and `read_rows_ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import (
    Piece,
    Written,
    can_be_cut,
    packed,
    piece_bytes,
    size,
    slices,
    total,
)
from tf_cluster_trainer.checkpoint.variables import StoredTensor

RowsInto = Callable[[Path], Iterable[Sequence[Written]]]
"""Has the ps write rows into a directory."""


def read_ops(stored: Iterable[StoredTensor]) -> list[list[Any]]:
    """Add operations to the current graph that read each tensor's parts where they are.

    The slots of a part are read one after the other, in the optimizer's order. Other workers may
    update them meanwhile; in this order LazyAdam's promise about m and v also holds for the copy.
    """

    def whole(part: Any) -> Any:
        # Like `read_value`, without its copy to the caller's device.
        return tf.raw_ops.ReadVariableOp(resource=part.handle, dtype=part.dtype)

    last: dict[tuple[str, int], Any] = {}
    found = []
    for one in stored:
        values = []
        for at, part in enumerate(one.parts):
            before = last.get((one.slot_of, at)) if one.slot_of else None
            values.append(_after(before, part, whole))
            last[one.slot_of, at] = values[-1]
        found.append(values)
    return found


def read_rows_ops(family: Iterable[StoredTensor], at: int, start: Any, rows: Any) -> list[Any]:
    """The same for `rows` rows of the part `at` of a variable and of its slots, from row `start`.

    They are gathered: a read would copy the whole part, once a sparse update was made.
    """

    def gather(part: Any) -> Any:
        return tf.raw_ops.ResourceGather(
            resource=part.handle, indices=tf.range(start, start + rows), dtype=part.dtype
        )

    slot: Any = None
    found = []
    for one in family:
        found.append(_after(slot, one.parts[at], gather))
        slot = found[-1] if one.slot_of else None
    return found


def _after(before: Any, part: Any, make: Callable[[Any], Any]) -> Any:
    with tf.device(part.device), tf.control_dependencies([] if before is None else [before]):
        return make(part)


@dataclass(frozen=True)
class Rows:
    """`count` rows to read together: of the part `at` of a variable and its slots (`family`).

    They begin at `row_in_part`, which is `row` of the whole tensors.
    """

    family: tuple[StoredTensor, ...]
    at: int
    row_in_part: int
    row: int
    count: int

    @property
    def device(self) -> str:
        """The device of the ps that has them."""
        return str(self.family[0].parts[self.at].device)


@dataclass(frozen=True)
class ReadPlan:
    """How a state is read: first the tensors of each of `groups` together, then `rows`."""

    groups: Sequence[tuple[StoredTensor, ...]]
    rows: Sequence[Rows]

    @property
    def families(self) -> dict[tuple[str, int], tuple[StoredTensor, ...]]:
        """The families that are read by rows, by the variable's key and the part."""
        return {(one.family[0].key, one.at): one.family for one in self.rows}


def plan_of(stored: Sequence[StoredTensor], *, by_rows: bool = True) -> ReadPlan:
    """Plan it: up to `piece_bytes` are read together, or one tensor that can't be cut.

    A variable's slots follow it at once, in the optimizer's order: see `read_ops`.
    """
    most = piece_bytes(total(one.spec for one in stored))
    families: dict[str, list[StoredTensor]] = {}
    for one in stored:
        families.setdefault(one.slot_of or one.key, []).append(one)
    whole: list[StoredTensor] = []
    rows: list[Rows] = []
    for family in families.values():
        if by_rows and total(one.spec for one in family) > most and can_be_cut(family[0].spec):
            rows.extend(_rows(tuple(family), most))
        else:
            whole.extend(family)
    return ReadPlan([*map(tuple, packed(whole, lambda one: size(one.spec), most))], rows)


def _rows(family: tuple[StoredTensor, ...], most: int) -> Iterator[Rows]:
    spec, begins = family[0].spec, 0  # a slot is like its variable
    for at, part in enumerate(family[0].parts):
        ends = begins + part.shape[0]
        row_bytes = size(spec) // spec.shape[0]
        for first, count in slices(begins, ends, row_bytes, most // len(family)):
            yield Rows(family, at, first - begins, first, count)
        begins = ends


def whole_pieces(group: Sequence[StoredTensor], values: Iterable[Sequence[Any]]) -> list[Piece]:
    """The pieces of a group of a plan, from the values of the parts."""
    found = []
    for one, parts in zip(group, values, strict=True):
        arrays = [_array(part) for part in parts]
        found.append(Piece(one.key, arrays[0] if len(arrays) == 1 else np.concatenate(arrays)))
    return found


def _array(part: Any) -> Any:
    if isinstance(part, bytes):  # a scalar string of a session: NumPy would drop zeros at its end
        return np.array(part, object)
    return np.asarray(part)  # not `numpy()`, which copies


def row_pieces(rows: Rows, values: Iterable[Any]) -> list[Piece]:
    """The pieces of some rows of a plan, from their values."""
    return [
        Piece(one.key, np.asarray(value), rows.row)
        for one, value in zip(rows.family, values, strict=True)
    ]


class VariableState:
    """The state as variables of this process' TensorFlow; remote reads run in parallel.

    Without `by_rows` each tensor is one piece. `ps_writing` has the ps write rows of the plan.
    """

    def __init__(
        self,
        stored: Sequence[StoredTensor],
        device: str,
        *,
        by_rows: bool = True,
        ps_writing: Callable[[Sequence[Rows]], RowsInto] | None = None,
    ) -> None:
        self.specs = {one.key: one.spec for one in stored}
        self._device = device
        self._plan = plan_of(stored, by_rows=by_rows)
        self._groups = [tf.function(partial(self._whole, group)) for group in self._plan.groups]
        self._rows = {
            (key, at): tf.function(partial(self._some, family, at))
            for (key, at), family in self._plan.families.items()
        }
        self._into = ps_writing(self._plan.rows) if ps_writing else None

    def pieces(self, into: Path | None = None) -> Iterator[Sequence[Piece | Written]]:
        """Read all of it, or have rows written into a directory; see State."""
        for group, values in zip(self._plan.groups, self._groups, strict=True):
            yield whole_pieces(group, values())
        if into and self._into:
            yield from self._into(into)
            return
        for rows in self._plan.rows:
            some = self._rows[rows.family[0].key, rows.at]
            with tf.device(self._device):
                place = tf.constant(rows.row_in_part, tf.int64), tf.constant(rows.count, tf.int64)
            yield row_pieces(rows, some(*place))

    def _whole(self, group: Sequence[StoredTensor]) -> list[list[Any]]:
        with tf.device(self._device):
            return [[tf.identity(part) for part in parts] for parts in read_ops(group)]

    def _some(self, family: Sequence[StoredTensor], at: int, start: Any, rows: Any) -> list[Any]:
        with tf.device(self._device):
            return [tf.identity(value) for value in read_rows_ops(family, at, start, rows)]
