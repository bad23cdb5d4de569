"""The same training in one process, without any of our loop: what the strategies must match."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import build_model

from tests.support.children import Children
from tests.support.trainings import context, saved
from tests.trainer.child.programs.fixed import Fixed, examples

# What the children train where a result is compared; `train` makes the same of the same settings.
FIXED = "tests.trainer.child.programs.fixed:Fixed"
BATCH, STEPS = 8, 40
# A schedule in the trainer's words, and tf_keras' own of the same rates.
RATE, END, WARMUP, DECAY = 0.05, 0.1, 6, 30
SCHEDULE = {"name": "cosine", "warmupSteps": WARMUP, "decaySteps": DECAY, "endFactor": END}
SCHEDULED = tf_keras.optimizers.schedules.CosineDecay(
    0.0, DECAY, alpha=END, warmup_target=RATE, warmup_steps=WARMUP
)
LEGACY = tf_keras.optimizers.legacy


class LazyAdam:
    """Adam by NumPy. Of a sparse gradient it touches the rows that are in it, and nothing else."""

    def __init__(self, rate: Any) -> None:
        self.rate = rate
        self.count = 0
        self.slots: dict[Any, tuple[Any, Any]] = {}

    def apply_gradients(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        rate = float(self.rate(self.count)) if callable(self.rate) else self.rate
        self.count += 1
        rate *= np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        for gradient, variable in pairs:
            value = variable.numpy()
            nothing = np.zeros_like(value), np.zeros_like(value)
            m, v = self.slots.setdefault(variable.ref(), nothing)
            rows, slope = _by_row(gradient)
            m[rows] = 0.9 * m[rows] + 0.1 * slope
            v[rows] = 0.999 * v[rows] + 0.001 * slope**2
            value[rows] -= rate * m[rows] / (np.sqrt(v[rows]) + 1e-7)
            variable.assign(value)


def _by_row(gradient: Any) -> tuple[Any, Any]:
    """Which rows a gradient is of, each once, and what it is there; `...` when it is of all."""
    if not isinstance(gradient, tf.IndexedSlices):
        return ..., gradient.numpy()
    rows, place = np.unique(gradient.indices.numpy(), return_inverse=True)
    sums = np.zeros((len(rows), *gradient.values.shape[1:]), gradient.values.dtype.as_numpy_dtype)
    np.add.at(sums, place.reshape(-1), gradient.values.numpy())
    return rows, sums


OPTIMIZERS = {
    "SGD": lambda rate: LEGACY.SGD(rate),
    "Momentum": lambda rate: LEGACY.SGD(rate, momentum=0.9),
    "Adam": LazyAdam,
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


def assert_as_in_one_process(
    world: Children, run_id: str, steps: int, tmp_path: Path, **settings: Any
) -> None:
    """That so many steps gave what the same training gives without any strategy."""
    told = {"workers": world.workers, "batch": BATCH, "steps": steps, "rate": RATE, **settings}
    expected = train(context(tmp_path), **told)
    found = saved(world, run_id, steps)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=2e-5, err_msg=name)


def train_stale(
    program: Program,
    ctx: Context,
    examples: tuple[Any, Any],
    *,
    batch: int,
    steps: int,
    rate: float,
    staleness: int,
) -> Any:
    """A model after so many updates by LazyAdam, each made of variables `staleness` updates ago.

    As asynchronous workers do it: each computes while the others update. Batches are drawn at
    random from the examples (features by name, labels).
    """
    features, labels = examples
    model = build_model(program, ctx, {name: _spec(column) for name, column in features.items()})
    applied, waiting = LazyAdam(rate), deque[Any]()
    chance = np.random.default_rng(staleness)

    @tf.function
    def slopes(inputs: Any, wanted: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(program.loss(wanted, model(inputs, training=True)))
        return tape.gradient(loss, model.trainable_variables)

    while applied.count < steps:
        rows = chance.integers(0, len(labels), batch)
        inputs = {name: column[rows] for name, column in features.items()}
        waiting.append(slopes(inputs, labels[rows]))
        if len(waiting) > staleness:
            applied.apply_gradients(zip(waiting.popleft(), model.trainable_variables, strict=True))
    return model


def _spec(column: Any) -> tf.TensorSpec:
    return tf.TensorSpec([None, *column.shape[1:]], column.dtype)
