"""A batch of the program's own data, for the requests that an export carries."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import tables
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import make_dataset

LARGEST = 32 << 20
"""Bytes of a batch: a server holds the request in memory while it loads, and the export on disk."""
SECONDS = 10.0
"""A chief need not read the data to train. One that can't, and is not told so, must not wait."""


def example_batch(program: Program, ctx: Context) -> Any:
    """The features of the data's first `batchSize` examples, NumPy arrays [rows, …].

    It has one row where more would be too large. None, with a line in the log that says why, where
    there is no example to have: then an export has no requests. Raises nothing of the program's.
    """
    if not program.requests_in_export:
        return None
    found: list[Any] = []
    failed: list[BaseException] = []

    def read() -> None:
        try:
            found.append(_read(program, ctx))
        except BaseException as error:
            failed.append(error)

    # TensorFlow reads without an end in sight, and can't be told to stop.
    reader = threading.Thread(target=read, daemon=True, name="example-batch")
    reader.start()
    reader.join(SECONDS)
    if found and found[0] is not None:
        return found[0]
    if failed:
        first, *_ = [*str(failed[0]).splitlines(), ""]
        why = f"{type(failed[0]).__name__}: {first[:300]}"
    else:
        why = "it has no example" if found else f"it gave none in {SECONDS:.0f} s"
    log(f"dataset can't be read here ({why}): the export carries no request")
    return None


def _read(program: Program, ctx: Context) -> Any:
    with tf.device("CPU:0"), tables.ending_with_their_use():
        features = make_dataset(program, ctx).map(lambda features, labels: features)
        rows = ctx.settings.batch_size
        size = rows * _row_bytes(features)
        if size > LARGEST:
            log(f"the export's warm-up has one row alone: {rows} rows have about {size >> 20} MiB")
            rows = 1
        return _first(features.repeat().batch(rows))


def _first(batches: Iterable[Any]) -> Any:
    for batch in batches:
        return tf.nest.map_structure(lambda tensor: tensor.numpy(), batch)
    return None


def _row_bytes(features: tf.data.Dataset) -> int:
    """Bytes of one example; of the first one, where they differ."""
    specs = tf.nest.flatten(features.element_spec)
    if all(spec.shape.is_fully_defined() and spec.dtype != tf.string for spec in specs):
        return sum(spec.shape.num_elements() * spec.dtype.size for spec in specs)
    one = _first(features.batch(1))
    return 0 if one is None else sum(map(_bytes, tf.nest.flatten(one)))


def _bytes(array: Any) -> int:
    if array.dtype == object:
        return sum(len(one) + 8 for one in array.ravel())
    return int(array.nbytes)
