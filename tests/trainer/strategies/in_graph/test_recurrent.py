"""LSTM and GRU whose kernels are in parts: the same values, and a training that ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Result
from tf_cluster_trainer.strategies.step import sharded

from tests.slices import sliced
from tests.support.trainings import saved
from tests.trainer.child.programs.recurrent import UNITS
from tests.trainer.strategies.ways import trained, two_workers

layers = tf_keras.layers


def in_two(create_next: Any, **given: Any) -> Any:
    """Make a matrix in two parts, by rows."""
    shape = given.get("shape")
    if shape is None or len(shape) != 2:
        return create_next(**given)
    rows = (shape[0] // 2, shape[0] - shape[0] // 2)
    made = [tf.Variable(tf.zeros((count, *shape[1:])), name="part") for count in rows]
    return ShardedVariable(made)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.LSTM(8),
        lambda: layers.GRU(8),
        lambda: layers.Bidirectional(layers.LSTM(8)),
        lambda: layers.LSTM(8, recurrent_dropout=0.5),
        lambda: layers.GRU(8, reset_after=False, go_backwards=True),
    ],
    ids=["LSTM", "GRU", "both ways", "dropout", "backwards"],
)
def test_a_kernel_in_parts_computes_what_a_whole_one_does(make: Any) -> None:
    sharded.install()
    given = tf.constant(np.random.default_rng(1).normal(size=(4, 5, 6)), tf.float32)
    whole, cut = make(), make()
    whole(given)
    with tf.variable_creator_scope(in_two):
        cut.build(given.shape)
    values = whole.get_weights()
    for variable in cut.weights:
        value = values[0][: variable.shape[0]]
        variable.assign(value)
        rest = values[0][variable.shape[0] :]
        values = [rest, *values[1:]] if len(rest) else values[1:]
    assert not values and len(cut.weights) > len(whole.weights)

    def computed(layer: Any) -> tuple[Any, list[Any]]:
        @tf.function
        def compute() -> Any:
            with tf.GradientTape() as tape:
                seen = layer(given, training=False)
            return seen, tape.gradient(seen, layer.trainable_weights)

        seen, gradients = compute()
        return seen.numpy(), [tf.convert_to_tensor(one).numpy() for one in gradients]

    (seen, gradients), (expected, of_whole) = computed(cut), computed(whole)
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    flat = [np.concatenate([one.ravel() for one in some]) for some in (gradients, of_whole)]
    np.testing.assert_allclose(*flat, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("update", sliced(["async", "sync"], 1))
def test_a_recurrent_net_trains_on_two_ps(update: str, tmp_path: Path) -> None:
    with two_workers(f"parameter-server-in-graph-{update}", tmp_path) as (world, settings):
        module = "tests.trainer.child.programs.recurrent:Recurrent"
        told = {"optimizer": {"name": "Adam", "learningRate": 0.005}, "steps": 60}
        chief = trained(world, module=module, **told, **settings)
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
        kept = saved(world, "1", chief.of(Result)[0].step)
        assert kept["gru/gru_cell/kernel"].shape == (2 * UNITS, 3 * UNITS)
