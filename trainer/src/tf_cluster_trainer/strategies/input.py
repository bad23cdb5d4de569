"""From the program's examples to a worker's endless batches."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.program import Program

SHUFFLE_BYTES = 64 << 20
SHUFFLE_EXAMPLES = 10_000
UNKNOWN_SIZE = 1024


def batches(examples: Any, *, batch_size: int, seed: Any, buffer: int) -> Any:
    """Shuffled anew in every epoch, repeated for ever, in batches of exactly `batch_size`."""
    shuffled = examples.shuffle(buffer, seed=seed, reshuffle_each_iteration=True)
    return shuffled.repeat().batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def shuffle_buffer(program: Program, element_spec: Any) -> int:
    """How many examples are shuffled among: the program's choice or what memory allows."""
    if program.shuffle_buffer is not None:
        return program.shuffle_buffer
    return max(1, min(SHUFFLE_EXAMPLES, SHUFFLE_BYTES // _bytes(element_spec)))


def _bytes(element_spec: Any) -> int:
    specs = tf.nest.flatten(element_spec)
    if any(not spec.shape.is_fully_defined() or spec.dtype == tf.string for spec in specs):
        return SHUFFLE_BYTES // UNKNOWN_SIZE
    return max(1, sum(int(spec.shape.num_elements() * spec.dtype.size) for spec in specs))
