"""Programs whose lookup tables say which process filled them, or are made in the wrong place."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context

from tests.trainer.child.programs.broken import Small

FILLED_BY = "the table was filled by process"


class SaysWhoFilledItsTable(Small):
    """The file that the table is made of tells, of the process that reads it, its number."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        status = tf.lookup.TextFileInitializer(
            "/proc/self/status", tf.string, 0, tf.string, 1, delimiter="\t"
        )
        table = tf.lookup.StaticHashTable(status, default_value="")

        def say(numbers: Any, label: Any) -> Any:
            said = tf.print(FILLED_BY, table.lookup(tf.constant("Pid:")))
            with tf.control_dependencies([said]):
                return tf.identity(numbers), label

        # Each worker says it once for every example, in the first epoch.
        return super().dataset(ctx, input_context).take(64).map(say).cache()


class KeepsItsTable(Small):
    """The data set's first table, which the trial makes, is used again."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        if not hasattr(self, "lookup"):
            self.lookup = _layer()
        return super().dataset(ctx, input_context).map(lambda x, y: _with(x, y, self.lookup))


class MakesItsTableInAFunction(Small):
    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return super().dataset(ctx, input_context).map(lambda x, y: _with(x, y, _layer()))


def _layer() -> Any:
    return tf_keras.layers.IntegerLookup(vocabulary=[1, 2])


def _with(numbers: Any, label: Any, lookup: Any) -> tuple[Any, Any]:
    found = tf.cast(lookup(tf.cast(numbers, tf.int64)), tf.float32)
    return numbers + 0 * found, label
