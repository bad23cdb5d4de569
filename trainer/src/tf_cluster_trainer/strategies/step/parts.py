"""In how many parts a variable lies on the ps in-graph, and which variable no task could send.

`tf-cluster plan` reckons with the same rule (generator, planning/memory.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import size
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError

SHARD_BYTES = 256 << 10
"""The least of a part."""
PART_BYTES = 1 << 30
"""The most of a part, if it has more than one row: there are more parts than ps then."""
MESSAGE_BYTES = 2 << 30
"""What no message between two tasks can hold, nor then a part or a whole variable."""


def partitioner(ps: int, variables: Iterable[TensorSpec]) -> Callable[..., Any] | None:
    """TensorFlow's partitioner for so many ps; None where no variable is cut."""
    if ps == 1 and all(size(one) <= PART_BYTES for one in variables):
        return None
    by_ps = tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=SHARD_BYTES, max_shards=ps
    )

    def cut(shape: tf.TensorShape, dtype: tf.DType) -> list[int]:
        parts: list[int] = list(by_ps(shape, dtype))
        least = math.ceil(size(TensorSpec(tuple(shape), dtype.name)) / PART_BYTES)
        if least > parts[0]:
            parts[0] = min(math.ceil(least / ps) * ps, shape[0])
        return parts

    return cut


def check_whole(variables: Mapping[str, TensorSpec], why: str) -> None:
    """Raise ProgramError that names a variable of 2 GiB or more: here each is in one piece."""
    for key, spec in variables.items():
        if size(spec) >= MESSAGE_BYTES:
            raise ProgramError(_too_large(key, size(spec), f"{why} each variable is whole"))


def check_rows(variables: Mapping[str, TensorSpec]) -> None:
    """Raise ProgramError that names a variable of which one row is too large."""
    for key, spec in variables.items():
        rows = spec.shape[0] if spec.shape else 1
        row = size(spec) // max(rows, 1)
        if row >= MESSAGE_BYTES:
            raise ProgramError(_too_large(key, row, "variables are cut by rows, and one row of it"))


def _too_large(key: str, found: int, why: str) -> str:
    return (
        f"the model's variable {key.removeprefix('model/')} can't be trained on parameter servers: "
        f"{why}, here of {found / 2**30:.1f} GiB, and no message between two tasks holds 2 GiB. "
        "In-graph replication in float32 cuts variables by rows; or make it of several variables"
    )
