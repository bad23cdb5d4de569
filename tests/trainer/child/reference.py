"""The same training in one process, without any of our loop: what the strategies must match."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.context import Context
from tf_cluster_trainer.strategies.rehearsal import build_model

from tests.trainer.child.programs.fixed import Fixed, examples

# A schedule in the trainer's words, and tf_keras' own of the same rates.
RATE, END, WARMUP, DECAY = 0.05, 0.1, 6, 30
SCHEDULE = {"name": "cosine", "warmupSteps": WARMUP, "decaySteps": DECAY, "endFactor": END}
SCHEDULED = tf_keras.optimizers.schedules.CosineDecay(
    0.0, DECAY, alpha=END, warmup_target=RATE, warmup_steps=WARMUP
)
LEGACY = tf_keras.optimizers.legacy
OPTIMIZERS = {
    "SGD": lambda rate: LEGACY.SGD(rate),
    "Momentum": lambda rate: LEGACY.SGD(rate, momentum=0.9),
    "Adam": lambda rate: LEGACY.Adam(rate),
    "Adagrad": lambda rate: LEGACY.Adagrad(rate),
}


def train(
    ctx: Context, *, workers: int, batch: int, steps: int, optimizer: str, rate: Any
) -> dict[str, Any]:
    """Variables by name after so many updates, each with the mean gradient of all workers.

    `rate` is the learning rate, a number or a schedule of tf_keras.
    """
    program = Fixed()
    specs = (tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None, 3], tf.int64))
    model = build_model(program, ctx, specs)
    applied = OPTIMIZERS[optimizer](rate)
    parts = [examples(worker, workers) for worker in range(workers)]
    for step in range(steps):
        with tf.GradientTape() as tape:
            losses = []
            for inputs, labels in parts:
                rows = np.arange(step * batch, (step + 1) * batch) % len(labels)
                outputs = model((inputs["numbers"][rows], inputs["words"][rows]), training=True)
                error = tf.reduce_mean((labels[rows] - outputs) ** 2)
                losses.append(error + tf.add_n(model.losses))
            loss = tf.add_n(losses) / workers
        gradients = tape.gradient(loss, model.trainable_variables)
        applied.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return {v.name.partition(":")[0]: v.numpy() for v in model.variables}
