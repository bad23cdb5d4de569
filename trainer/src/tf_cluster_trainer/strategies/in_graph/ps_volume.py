"""What an in-graph chief has the ps do with the run's files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.reading import Rows, RowsInto
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.stored_rows import StoredRows
from tf_cluster_trainer.ps_volume import reach as ps_reach
from tf_cluster_trainer.ps_volume import reading
from tf_cluster_trainer.ps_volume.writing import PsWriting, write_rows_ops
from tf_cluster_trainer.strategies.step import devices, state_memory

_WORDS = tf.TensorSpec([None], tf.string)
_WORD = tf.TensorSpec([], tf.string)
_ROW = tf.TensorSpec([], tf.int64)


def reach(run_dir: Path, wanted: bool | None, ps: int, *, check_owner: Callable[[], None]) -> bool:
    """Whether all the ps reach the run's directory; see ps_volume/reach.py."""

    def of_all(words: Any) -> list[Any]:
        asked = (ps_reach.reach_op(devices.ps(task), f"ps-{task}", words) for task in range(ps))
        return [_to_chief(said) for said in asked]

    call = tf.function(of_all, [_WORDS], autograph=False)
    return ps_reach.reach(
        run_dir,
        wanted,
        lambda words: [one.numpy() for one in call(_of(words))],
        check_owner=check_owner,
    )


def memory(ps: int) -> list[bytes]:
    """What each ps says of its memory."""

    def of_all() -> list[Any]:
        return [_to_chief(said) for said in state_memory.memory_ops(ps)]

    return [one.numpy() for one in tf.function(of_all, autograph=False)()]


def writing(rows: Sequence[Rows]) -> RowsInto:
    """What has the ps write these rows into a directory."""
    calls: dict[tuple[str, int], Any] = {}
    for one in rows:
        key = one.family[0].key, one.at
        if key not in calls:
            calls[key] = _on_ps(partial(write_rows_ops, one.family, one.at), _ROW, _ROW, _WORDS)

    def write(one: Rows, words: Sequence[str]) -> tuple[bytes, Sequence[bool]]:
        call = calls[one.family[0].key, one.at]
        said, finite = call(*map(_of, (one.row_in_part, one.count, words)))
        return said.numpy(), finite.numpy()

    return partial(PsWriting(rows).into, write=write)


def read(saved: Checkpoint, rows: Sequence[StoredRows]) -> None:
    """Have the ps read these rows of a checkpoint. Raises OSError."""
    calls: dict[tuple[str, int], Any] = {}
    for one in rows:
        key = one.stored.key, one.at
        if key not in calls:
            calls[key] = _on_ps(
                partial(reading.restore_rows_op, one.stored, one.at), _WORD, _WORD, _ROW
            )

    def read_one(one: StoredRows, prefix: str) -> None:
        calls[one.stored.key, one.at](*map(_of, (prefix, one.place, one.row_in_part))).numpy()

    reading.read(saved, rows, read_one)


def _on_ps(make: Any, *signature: Any) -> Any:
    """A function whose operations are on a ps; only its results come to the chief."""

    def made(*given: Any) -> Any:
        return tf.nest.map_structure(_to_chief, make(*given))

    return tf.function(made, signature, autograph=False)


def _to_chief(value: Any) -> Any:
    with tf.device(devices.CHIEF):
        return tf.identity(value)


def _of(value: Any) -> Any:
    with tf.device(devices.CHIEF):
        return tf.constant(value, tf.int64 if isinstance(value, int) else tf.string)
