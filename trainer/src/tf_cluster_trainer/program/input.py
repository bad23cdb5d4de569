"""Makes a worker's endless batches of the program's examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.errors import HookError
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context, DataShard

SHUFFLE_BYTES = 64 << 20
SHUFFLE_EXAMPLES = 10_000
UNKNOWN_SIZE = 1024
# Distance between the seeds of two workers, and of two starts: primes, so that they don't coincide.
WORKER_SEEDS = 1_000_003
START_SEEDS = 7_919


def of_worker(
    program: Program, ctx: Context, shard: DataShard, start: Any, input_context: Any
) -> Any:
    """Return the endless batches of one worker, as a tf.data.Dataset.

    The shard's index and `start`, the run's present step, are integers or scalar int64 tensors. A
    worker that starts again continues with other orders. Raises HookError.
    """
    try:
        examples = program.dataset(replace(ctx, data_shard=shard), input_context)
    except Exception as error:
        raise HookError("dataset", error) from error
    return batches(
        examples,
        batch_size=ctx.settings.batch_size,
        micro_batches=ctx.settings.micro_batches,
        seed=seed(ctx, shard.index, start),
        buffer=shuffle_buffer(program, examples.element_spec),
    )


def seed(ctx: Context, index: Any, start: Any) -> Any:
    """The seed of the worker with this index, for a start from this step."""
    return ctx.settings.seed + WORKER_SEEDS * (index + 1) + START_SEEDS * start


def batches(examples: Any, *, batch_size: int, micro_batches: int, seed: Any, buffer: int) -> Any:
    """Shuffle each pass over the data in another order, repeat, and batch exactly `batch_size`.

    A step takes `micro_batches` batches: [micro_batches, batch_size, ...]. With one, the first axis
    is missing.
    """
    shuffled = examples.shuffle(buffer, seed=seed, reshuffle_each_iteration=True)
    batched = shuffled.repeat().batch(batch_size, drop_remainder=True)
    if micro_batches > 1:
        batched = batched.batch(micro_batches, drop_remainder=True)
    return batched.prefetch(tf.data.AUTOTUNE)


def shuffle_buffer(program: Program, element_spec: Any) -> int:
    """The size of the shuffle buffer in examples: the program's choice, or what memory allows."""
    if program.shuffle_buffer is not None:
        return program.shuffle_buffer
    return max(1, min(SHUFFLE_EXAMPLES, SHUFFLE_BYTES // _bytes(element_spec)))


def _bytes(element_spec: Any) -> int:
    specs = tf.nest.flatten(element_spec)
    if any(not spec.shape.is_fully_defined() or spec.dtype == tf.string for spec in specs):
        return SHUFFLE_BYTES // UNKNOWN_SIZE
    return max(1, sum(int(spec.shape.num_elements() * spec.dtype.size) for spec in specs))
