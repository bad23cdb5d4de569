"""What a between-graph chief has the ps do with the run's files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import Written, can_be_cut
from tf_cluster_trainer.checkpoint.reading import ReadPlan, Rows
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.stored_rows import StoredRows
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.ps_volume import reach as ps_reach
from tf_cluster_trainer.ps_volume import reading
from tf_cluster_trainer.ps_volume.shares import Running
from tf_cluster_trainer.ps_volume.writing import PsWriting, write_rows_ops
from tf_cluster_trainer.strategies.step import devices, state_memory

Run = Callable[..., Any]
"""A session's. Every method that takes one raises its errors."""


class PsVolume:
    """The operations, of the current graph."""

    def __init__(self, ps: int, plan: ReadPlan, stored: Sequence[StoredTensor]) -> None:
        given = tf.compat.v1.placeholder
        self._words = given(tf.string, [None])
        self._prefix, self._place = (given(tf.string, []) for _ in range(2))
        self._start, self._count = (given(tf.int64, []) for _ in range(2))
        self._writing = PsWriting(plan.rows)
        self._reach = [
            ps_reach.reach_op(devices.ps(task), f"ps-{task}", self._words) for task in range(ps)
        ]
        self._write = {
            key: write_rows_ops(family, key[1], self._start, self._count, self._words)
            for key, family in plan.families.items()
        }
        self._memory = state_memory.memory_ops(ps)
        self._restore = {
            (one.key, at): reading.restore_rows_op(one, at, self._prefix, self._place, self._start)
            for one in stored
            if can_be_cut(one.spec)
            for at in range(len(one.parts))
        }

    def reach(
        self, run: Run, run_dir: Path, wanted: bool | None, *, check_owner: Callable[[], None]
    ) -> bool:
        """Whether all the ps reach the run's directory; see ps_volume/reach.py."""

        def ask(words: Sequence[str]) -> list[bytes]:
            return [bytes(said) for said in run(self._reach, {self._words: [*words]})]

        return ps_reach.reach(run_dir, wanted, ask, check_owner=check_owner)

    def memory(self, run: Run) -> list[bytes]:
        """What each ps says of its memory."""
        return [bytes(said) for said in run(self._memory)]

    def written(self, run: Run, directory: Path) -> Running[Sequence[Written]]:
        """Have the ps write the rows of the plan into the directory."""

        def write(one: Rows, words: Sequence[str]) -> tuple[bytes, Sequence[bool]]:
            given = {
                self._start: one.row_in_part,
                self._count: one.count,
                self._words: [*words],
            }
            said, finite = run(self._write[one.family[0].key, one.at], given)
            return said, finite

        return self._writing.into(directory, write)

    def read(self, run: Run, saved: Checkpoint, rows: Sequence[StoredRows]) -> None:
        """Have the ps read these rows of a checkpoint. Raises OSError."""

        def read_one(one: StoredRows, prefix: str) -> None:
            given = {
                self._prefix: prefix,
                self._place: one.place,
                self._start: one.row_in_part,
            }
            run(self._restore[one.stored.key, one.at], given)

        reading.read(saved, rows, read_one)
