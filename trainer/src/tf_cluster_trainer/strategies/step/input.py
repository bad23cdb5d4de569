"""A worker's examples with parameter servers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program.context import DataShard
from tf_cluster_trainer.strategies.context import StrategyContext


def worker_batches(context: StrategyContext, index: Any, start: Any) -> Any:
    """The endless batches of the worker with this index; see `of_worker` in program/input.py.

    With parameter servers TensorFlow knows one input pipeline, whoever reads it.
    """
    shard = DataShard(index, context.workers)
    return worker_input.of_worker(
        context.program, context.ctx, shard, start, tf.distribute.InputContext()
    )
