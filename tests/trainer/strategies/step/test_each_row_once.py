"""An Embedding in a step: the same answers and gradients as outside of it, of fewer rows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_cluster_trainer.strategies.step import sharded
from tf_cluster_trainer.strategies.step.each_row_once import each_row_once
from tf_cluster_trainer.strategies.step.sparse_updates import are_distinct

ROWS, WIDTH = 50, 3
SHAPES = [(7,), (4, 5), (2, 3, 4), (0, 3)]


def layer(**settings: Any) -> Any:
    made = tf_keras.layers.Embedding(ROWS, WIDTH, **settings)
    made.build(())
    made.set_weights([np.random.default_rng(1).normal(size=(ROWS, WIDTH))])
    return made


def looked_up(layer: Any, ids: Any, inside: Any) -> tuple[Any, Any]:
    """Its answer, and the gradient of its sum of squares."""
    with tf.GradientTape() as tape, inside:
        found = layer(ids)
        values = found.flat_values if isinstance(found, tf.RaggedTensor) else found
        loss = tf.reduce_sum(tf.cast(values, tf.float32) ** 2)
    return found, tape.gradient(loss, layer.trainable_variables)[0]


def dense(gradient: Any) -> Any:
    return tf.convert_to_tensor(gradient).numpy()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_answers_and_gradients_are_the_same(
    shape: tuple[int, ...], dtype: str, traced: bool
) -> None:
    ids = tf.constant(np.random.default_rng(2).integers(0, 9, shape), dtype)
    made = layer()

    def step(ids: Any) -> tuple[Any, Any]:
        return looked_up(made, ids, each_row_once())

    found, gradient = (tf.function(step) if traced else step)(ids)
    expected, plain = looked_up(made, ids, nullcontext())
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(dense(gradient), dense(plain), rtol=1e-6)
    assert isinstance(gradient, tf.IndexedSlices)
    assert sorted(gradient.indices.numpy()) == sorted(set(ids.numpy().ravel().tolist()))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_graph_says_that_the_rows_of_a_gradient_are_different(dtype: str) -> None:
    """So the optimizer, and workers in lockstep, do not look for equal ones again."""
    made, seen = layer(), list[bool]()

    @tf.function
    def step(ids: Any) -> None:
        for inside in (each_row_once(), nullcontext()):
            _, gradient = looked_up(made, ids, inside)
            seen.append(are_distinct(gradient.indices))

    step(tf.constant([[3, 1], [3, 3]], dtype))
    assert seen == [True, False]


def test_a_batch_of_any_size_keeps_the_shape_that_is_known() -> None:
    made = layer()

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.int64)])
    def step(ids: Any) -> Any:
        with each_row_once():
            found = made(ids)
        assert found.shape.as_list() == [None, 4, WIDTH]
        return found

    assert step(tf.zeros([5, 4], tf.int64)).shape == (5, 4, WIDTH)


@pytest.mark.parametrize(
    "ids",
    [
        tf.ragged.constant([[1, 1, 2], [3]]),
        tf.constant([[1.0, 1.0], [2.0, 3.0]]),
    ],
    ids=["ragged", "floats"],
)
def test_other_inputs_are_looked_up_as_ever(ids: Any) -> None:
    made = layer()
    found, gradient = looked_up(made, ids, each_row_once())
    expected, plain = looked_up(made, ids, nullcontext())
    tf.debugging.assert_equal(
        *(one.to_tensor() if isinstance(one, tf.RaggedTensor) else one for one in (found, expected))
    )
    np.testing.assert_allclose(dense(gradient), dense(plain), rtol=1e-6)


def test_a_layer_whose_answer_is_sparse_answers_as_ever() -> None:
    made, ids = layer(sparse=True), tf.constant([3, 1, 3])
    with each_row_once():
        found = made(ids)
    tf.debugging.assert_equal(tf.sparse.to_dense(found), tf.sparse.to_dense(made(ids)))


def test_half_floats_are_summed_as_floats() -> None:
    """So a row that is asked for often keeps its gradient: 3,000 times 1 is no half float."""
    made = layer(dtype="mixed_float16")
    ids = tf.zeros([3001], tf.int64)
    with tf.GradientTape() as tape, each_row_once():
        loss = tf.reduce_sum(tf.cast(made(ids), tf.float32))
    (gradient,) = tape.gradient(loss, made.trainable_variables)
    assert dense(gradient)[0, 0] == 3001


def test_a_table_in_parts_is_asked_for_each_row_once() -> None:
    sharded.install()
    parts = [tf.Variable(tf.random.stateless_normal([25, WIDTH], (1, at))) for at in range(2)]
    made = tf_keras.layers.Embedding(ROWS, WIDTH)
    made.built = True
    made.embeddings = ShardedVariable(parts)
    ids = tf.constant([3, 30, 3, 30, 30, 49])

    def gradients(inside: Any) -> tuple[Any, list[Any]]:
        with tf.GradientTape() as tape, inside:
            found = made(ids)
            loss = tf.reduce_sum(found**2)
        return found, tape.gradient(loss, parts)

    found, once = gradients(each_row_once())
    expected, plain = gradients(nullcontext())
    np.testing.assert_array_equal(found, expected)
    for one, other in zip(once, plain, strict=True):
        np.testing.assert_allclose(dense(one), dense(other), rtol=1e-6)
    assert [len(one.indices) for one in once] == [1, 2]
    assert [len(one.indices) for one in plain] == [2, 4]


def test_what_is_traced_outside_of_a_step_is_as_it_was() -> None:
    """An export is."""
    made = layer()
    with each_row_once():
        made(tf.constant([1]))
    function = tf.function(made).get_concrete_function(tf.TensorSpec([None], tf.int64))
    assert "Unique" not in {operation.type for operation in function.graph.get_operations()}
