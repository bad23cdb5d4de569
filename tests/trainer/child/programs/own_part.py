"""Programs whose workers differ."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.strategies.all_reduce import worker

from tests.trainer.child.programs.broken import Small

WRITE = checkpoint_write.write


class OneLossIsInfinite(Small):
    """The labels of the second worker are too large for a squared error."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        factor = 1e30 if ctx.data_shard.index == 1 else 1.0
        return super().dataset(ctx, input_context).map(lambda x, y: (x, y * factor))


class Heavy(Small):
    """A weight of 32 MB."""

    def build_model(self, ctx: Context) -> Any:
        weights = tf_keras.layers.Dense(4096, use_bias=False, name="of")
        return tf_keras.Sequential([tf_keras.layers.Input((2048,)), weights])

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return tf.data.Dataset.from_tensors((tf.ones([2048]), tf.ones([4096])))


class DiesAfterItsLastStep(Small):
    """The second worker, as soon as the first is through, and without saying that it is too."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        first_is_through = ctx.run_dir / "through"
        leave = worker.AllReduce.leave

        def leaves(ours: worker.AllReduce) -> None:
            first_is_through.touch()
            leave(ours)

        def dies(_: worker.AllReduce) -> None:
            while not first_is_through.exists():
                time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGKILL)

        worker.AllReduce.leave = dies if ctx.data_shard.index == 1 else leaves
        return super().dataset(ctx, input_context)


class SlotOverflows(Small):
    """Adagrad's sum of the squared gradients is infinite, the loss and the weights are not."""

    def loss(self, labels: Any, outputs: Any) -> Any:
        return outputs[:, 0] * 1e20


class WritesWhenTold(Small):
    """A checkpoint waits for a file `write` in the run's folder."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        def when_told(*told: Any, **named: Any) -> None:
            while not (ctx.run_dir / "write").exists():
                time.sleep(0.1)
            WRITE(*told, **named)

        checkpoint_write.write = when_told
        return super().dataset(ctx, input_context)


class SaysWhichPart(Small):
    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> Any:
        shard, pipeline = ctx.data_shard, input_context
        print(
            f"part {shard.index} of {shard.count}, "
            f"pipeline {pipeline.input_pipeline_id} of {pipeline.num_input_pipelines}, "
            f"{pipeline.num_replicas_in_sync} replicas",
            flush=True,
        )
        return super().dataset(ctx, input_context)


class Normalized(Small):
    """The batches of worker i are all 2 i: the mean over two workers is 1. Of two types."""

    def build_model(self, ctx: Context) -> Any:
        normalization = tf_keras.layers.BatchNormalization(momentum=0.9, name="normalization")
        return tf_keras.Sequential(
            [tf_keras.layers.Input((4,)), normalization, tf_keras.layers.Dense(1, dtype="float64")]
        )

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        value = 2.0 * ctx.data_shard.index
        return super().dataset(ctx, input_context).map(lambda x, y: (tf.ones_like(x) * value, y))


class LowersItsOwnWeight(Small):
    """Of two weights each step's gradient is 0 but for the part's own: there it is the count."""

    def build_model(self, ctx: Context) -> Any:
        weights = tf_keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", name="of")
        return tf_keras.Sequential([tf_keras.layers.Input((2,)), weights])

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        shard = ctx.data_shard
        part = tf.one_hot(shard.index, 2) * float(shard.count)
        return super().dataset(ctx, input_context).map(lambda x, y: (part, y))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return outputs[:, 0]


EXAMPLES = 64


class Draws(LowersItsOwnWeight):
    """A weight for each worker and example: the gradient says who drew which. Nobody has a part."""

    def build_model(self, ctx: Context) -> Any:
        weights = tf_keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", name="of")
        return tf_keras.Sequential([tf_keras.layers.Input((2 * EXAMPLES,)), weights])

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        first = ctx.data_shard.index * EXAMPLES
        return tf.data.Dataset.range(EXAMPLES).map(
            lambda example: (tf.one_hot(first + example, 2 * EXAMPLES), tf.zeros([1]))
        )
