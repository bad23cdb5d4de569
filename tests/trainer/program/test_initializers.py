"""Parts of a variable are drawn as the whole one is."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.program.initializers import in_scale, of_parts

KINDS = [f"{who}_{how}" for who in ("glorot", "he", "lecun") for how in ("uniform", "normal")]
SHAPES = [(2000,), (1000, 70), (40, 60, 30), (12, 5, 60, 30)]


def scaling(mode: str) -> Any:
    return tf_keras.initializers.VarianceScaling(3.0, mode, "untruncated_normal")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [*KINDS, "fan_in", "fan_out", "fan_avg"])
@pytest.mark.parametrize("parts", [1, 3, 10])
def test_parts_have_the_spread_of_the_whole(kind: str, shape: tuple[int, ...], parts: int) -> None:
    tf_keras.utils.set_random_seed(3)
    known = kind in KINDS
    initializer = tf_keras.initializers.get(kind) if known else scaling(kind)
    make = partial(initializer, shape, dtype=tf.float32)
    whole = make()
    drawn = []
    for rows in np.array_split(np.arange(shape[0]), parts):
        part = (len(rows), *shape[1:])
        offset = (int(rows[0]), *(0 for _ in shape[1:]))
        drawn.append(of_parts(make, shape)(partition_shape=part, partition_offset=offset).numpy())
        assert drawn[-1].shape == part
    together = np.concatenate(drawn)
    assert together.std() == pytest.approx(np.std(whole), rel=0.06)
    if kind.endswith("uniform"):
        assert np.abs(together).max() == pytest.approx(np.abs(whole).max(), rel=0.02)


@pytest.mark.parametrize(
    "make",
    [
        partial(tf_keras.initializers.RandomUniform(seed=1), (9, 2), dtype=tf.float32),
        partial(tf_keras.initializers.GlorotUniform(seed=1), (9, 2), dtype=tf.float32),
        lambda: tf.ones((9, 2)),
    ],
)
def test_a_whole_variable_has_the_values_of_always(make: Any) -> None:
    with tf.variable_creator_scope(in_scale):
        made = tf.Variable(make, shape=(9, 2), dtype=tf.float32)
    again = tf.Variable(make, shape=(9, 2), dtype=tf.float32)
    np.testing.assert_array_equal(made, again)


def test_a_value_that_is_ready_stays() -> None:
    with tf.variable_creator_scope(in_scale):
        assert tf.Variable([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]
