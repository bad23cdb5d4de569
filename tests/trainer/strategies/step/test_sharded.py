"""A variable in parts gives what a whole one gives: rows, gradients and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_cluster_trainer.strategies.step import sharded
from tf_cluster_trainer.strategies.step.parts import Partitioner, needs_all_rows

VALUE = np.random.default_rng(1).normal(size=(11, 3)).astype(np.float32)
# Neither in the order of the parts, nor each once.
IDS = tf.constant([7, 1, 10, 0, 6, 5, 1])
RAGGED = tf.ragged.constant([[7, 1], [], [10, 0, 6]])
SPARSE = tf.sparse.from_dense(tf.constant([[7, 1], [10, 0]]))
v1 = tf.compat.v1.nn
LOOK_UPS: dict[str, Callable[[Any], Any]] = {
    "gather": lambda v: tf.gather(v, IDS),
    "gather of a matrix": lambda v: tf.gather(v, tf.reshape(IDS[:6], [2, 3])),
    "lookup": lambda v: tf.nn.embedding_lookup(v, IDS),
    "lookup of another name": lambda v: tf.nn.embedding_lookup(v, IDS, name="rows"),
    "lookup of a matrix": lambda v: tf.nn.embedding_lookup(v, tf.reshape(IDS[:6], [2, 3])),
    "lookup with a norm": lambda v: tf.nn.embedding_lookup(v, IDS, max_norm=0.5),
    "lookup as in 1.x": lambda v: v1.embedding_lookup(v, IDS),
    "lookup in a list": lambda v: v1.embedding_lookup([v], IDS),
    "ragged": lambda v: tf.nn.embedding_lookup(v, RAGGED).to_tensor(),
    "ragged as in 1.x": lambda v: v1.embedding_lookup(v, RAGGED).to_tensor(),
    "layers of ragged": lambda v: tf.nn.embedding_lookup(v, tf.stack([RAGGED, RAGGED])).to_tensor(),
    "list": lambda v: tf.nn.embedding_lookup(v, [7, 1, 10]),
    "array": lambda v: tf.nn.embedding_lookup(v, np.array([7, 1, 10])),
    "rows by gather_nd": lambda v: tf.gather_nd(v, IDS[:, tf.newaxis]),
    "entries by gather_nd": lambda v: tf.gather_nd(v, [[7, 2], [1, 0], [10, 1]]),
    "sparse": lambda v: tf.nn.embedding_lookup_sparse(v, SPARSE, None, combiner="sum"),
    "sparse as in 1.x": lambda v: v1.embedding_lookup_sparse(v, SPARSE, None, combiner="sum"),
    "safe sparse": lambda v: tf.nn.safe_embedding_lookup_sparse(v, SPARSE),
}


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    sharded.install()


def in_parts(parts: int = 2) -> Any:
    return ShardedVariable([tf.Variable(rows) for rows in np.array_split(VALUE, parts)])


@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("name", LOOK_UPS)
def test_rows_are_those_of_the_ids_and_nothing_else_is_read(name: str, parts: int) -> None:
    def computed(variable: Any, variables: list[Any]) -> tuple[Any, Any, set[str]]:
        @tf.function
        def compute() -> Any:
            with tf.GradientTape() as tape:
                rows = LOOK_UPS[name](variable)
                loss = tf.reduce_sum(rows**2)
            return rows, tape.gradient(loss, variables)

        rows, slopes = compute()
        dense = [tf.convert_to_tensor(one).numpy() for one in slopes]
        graph = compute.get_concrete_function().graph
        return rows.numpy(), np.concatenate(dense), {one.type for one in graph.get_operations()}

    whole, cut = tf.Variable(VALUE), in_parts(parts)
    expected, slope, _ = computed(whole, [whole])
    found, slopes, types = computed(cut, list(cut.variables))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(slopes, slope, rtol=1e-6)
    assert "ReadVariableOp" not in types


VALUES: dict[str, Callable[[Any], Any]] = {
    "identity": tf.identity,
    "identity of another name": lambda v: tf.identity(v, name="read"),
    "stop_gradient": tf.stop_gradient,
    "read_value": lambda v: v.read_value(),
    "value": lambda v: v.value(),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_value_is_that_of_the_whole(name: str) -> None:
    @tf.function
    def compute(variable: Any) -> Any:
        return VALUES[name](variable)

    np.testing.assert_array_equal(compute(in_parts()), VALUE)
    np.testing.assert_array_equal(VALUES[name](in_parts()), VALUE)
    np.testing.assert_array_equal(in_parts().numpy(), VALUE)
    np.testing.assert_array_equal(np.asarray(in_parts(), np.float64), VALUE)


def test_no_gradient_passes_where_it_is_stopped() -> None:
    variable = in_parts()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.stop_gradient(variable) * 2 + tf.identity(variable))
    for slope in tape.gradient(loss, list(variable.variables)):
        np.testing.assert_array_equal(slope, tf.ones_like(slope))


@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_a_list_of_tables_is_one_table(strategy: str) -> None:
    """Without a read of any of them, whole."""
    sizes = (4, 4, 3)
    begins = np.cumsum((0, *sizes))
    rows = [VALUE[first : first + size] for first, size in zip(begins, sizes, strict=False)]
    whole = [tf.Variable(some) for some in rows]
    cut = [ShardedVariable([*map(tf.Variable, np.array_split(some, 2))]) for some in rows]

    def found(tables: list[Any]) -> tuple[Any, set[str]]:
        @tf.function
        def look_up() -> Any:
            ids = tf.constant([[3, 9, 10], [0, 7, 1]])
            return v1.embedding_lookup(tables, ids, partition_strategy=strategy)

        graph = look_up.get_concrete_function().graph
        return look_up().numpy(), {one.type for one in graph.get_operations()}

    expected, _ = found(whole)
    rows_found, types = found(cut)
    np.testing.assert_array_equal(rows_found, expected)
    assert "ReadVariableOp" not in types


@pytest.mark.parametrize(
    "regularizer",
    [
        tf_keras.regularizers.L2(0.1),
        tf_keras.regularizers.L1L2(0.1, 0.2),
        tf_keras.regularizers.OrthogonalRegularizer(0.1, "columns"),
        lambda weights: 0.1 * tf.norm(weights),
    ],
    ids=["L2", "L1L2", "orthogonal", "norm"],
)
def test_a_regularizer_sees_the_whole_variable(regularizer: Any) -> None:
    def loss(cut: Partitioner | None) -> float:
        def value(*_: Any, **__: Any) -> Any:
            return tf.constant(VALUE)

        layer = tf_keras.layers.Dense(
            3, use_bias=False, kernel_initializer=value, kernel_regularizer=regularizer
        )
        with tf.variable_creator_scope(cut.create_in_parts) if cut else tf.name_scope("whole"):
            layer.build((None, 11))
        assert len(layer.weights) == (2 if cut else 1)
        return float(tf.add_n(layer.losses))

    np.testing.assert_allclose(loss(Partitioner(2, least=1)), loss(None), rtol=1e-5)


def test_a_ready_value_and_one_of_no_told_shape_are_cut_as_tensorflow_cuts_them() -> None:
    for value in (VALUE, lambda: tf.constant(VALUE)):
        with tf.variable_creator_scope(Partitioner(2, least=1).create_in_parts):
            made = tf.Variable(value, name="table")
        assert [part.shape.as_list() for part in made.variables] == [[6, 3], [5, 3]]
        np.testing.assert_array_equal(tf.convert_to_tensor(made), VALUE)


def test_which_constraints_need_all_rows() -> None:
    constraints = tf_keras.constraints
    assert not needs_all_rows(None, 2)
    assert not needs_all_rows(constraints.NonNeg(), 2)
    assert not needs_all_rows(constraints.UnitNorm(axis=1), 2)
    assert not needs_all_rows(constraints.MaxNorm(axis=[1, -1]), 3)
    for constraint, rank in (
        (constraints.MaxNorm(), 2),
        (constraints.MaxNorm(axis=-2), 2),
        (constraints.UnitNorm(axis=-1), 1),
        (constraints.MinMaxNorm(axis=[0, 1]), 2),
        (constraints.RadialConstraint(), 4),
        (lambda weights: weights / tf.norm(weights), 2),
    ):
        assert needs_all_rows(constraint, rank)
