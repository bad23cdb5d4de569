"""A sparse gradient changes the rows of the batch and nothing else, whoever else updates them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.checkpoint import reading
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.config import Optimizer
from tf_cluster_trainer.strategies.all_reduce import replica_lookups
from tf_cluster_trainer.strategies.step import optimizers

from tests.trainer.strategies import reference

ROWS, WIDTH, RATE = 7919, 8, 0.01
# What no gradients of one row can bring lazy Adam beyond, when its updates are made in turn: the
# square of |m| / sqrt(v) is at most (1 - b1)^2 / ((1 - b2) (1 - b1^2 / b2)).
LARGEST_RATIO = 7.2703

each_optimizer = pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "Adagrad"])


def made(name: str, variable: Any) -> Any:
    """The trainer's optimizer, and its slots of the variable."""
    optimizer = optimizers.make(Optimizer(name, RATE, None, None), lambda: 0)
    optimizer._create_all_weights([variable])
    return optimizer


def slots(optimizer: Any, variable: Any) -> list[Any]:
    return [optimizer.get_slot(variable, name) for name in optimizer.get_slot_names()]


def sparse(rows: Any, values: Any) -> Any:
    return tf.IndexedSlices(tf.constant(values, tf.float32), tf.constant(rows), (ROWS, WIDTH))


def table() -> Any:
    return tf.Variable(np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32))


@pytest.mark.parametrize("name", ["Momentum", "Adam", "Adagrad"])
@pytest.mark.parametrize("distinct", [True, False], ids=["distinct", "repeated"])
def test_rows_that_are_different_are_not_summed_again(name: str, distinct: bool) -> None:
    ours, theirs = table(), table()
    optimizer, expected = made(name, ours), made(name, theirs)
    rows = tf.constant([5, 7, 5, 1])
    values = tf.random.stateless_normal([4, WIDTH], [1, 2])

    @tf.function
    def update(rows: Any, values: Any) -> None:
        if distinct:
            rows, places = tf.unique(rows)
            values = tf.math.unsorted_segment_sum(values, places, tf.size(rows))
        rows = tf.identity(tf.reshape(rows, [-1]))
        optimizer.apply_gradients([(tf.IndexedSlices(values, rows, (ROWS, WIDTH)), ours)])

    update(rows, values)
    expected.apply_gradients([(tf.IndexedSlices(values, rows, (ROWS, WIDTH)), theirs)])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    operations = update.get_concrete_function(rows, values).graph.get_operations()
    assert [one.type for one in operations].count("Unique") == 1


@each_optimizer
def test_rows_change_as_in_the_reference_and_the_others_not_at_all(name: str) -> None:
    ours, theirs = table(), table()
    optimizer, expected = made(name, ours), reference.OPTIMIZERS[name](RATE)
    chance = np.random.default_rng(2)
    touched = set[int]()
    began = [variable.numpy() for variable in (ours, *slots(optimizer, ours))]
    for _ in range(20):
        rows = chance.integers(0, 40, 64) * 11  # each several times, some in one step and not next
        gradient = sparse(rows, chance.normal(size=(64, WIDTH)))
        optimizer.apply_gradients([(gradient, ours)])
        expected.apply_gradients([(gradient, theirs)])
        touched.update(rows.tolist())
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    others = [row for row in range(ROWS) if row not in touched]
    for variable, before in zip((ours, *slots(optimizer, ours)), began, strict=True):
        np.testing.assert_array_equal(variable.numpy()[others], before[others])


@each_optimizer
def test_nothing_of_an_update_is_as_large_as_the_table(name: str) -> None:
    variable = table()
    optimizer = made(name, variable)

    @tf.function
    def update(rows: Any, values: Any) -> None:
        optimizer.apply_gradients([(tf.IndexedSlices(values, rows, (ROWS, WIDTH)), variable)])

    specs = tf.TensorSpec([64], tf.int64), tf.TensorSpec([64, WIDTH], tf.float32)
    assert as_large_as_the_table(update.get_concrete_function(*specs).graph) == []


def as_large_as_the_table(graph: Any) -> list[str]:
    """The operations whose result is, in the graph of a function and in what it calls."""
    inner = [function.graph for function in graph._functions.values() if hasattr(function, "graph")]
    return [
        operation.name
        for one in (graph, *inner)
        for operation in one.get_operations()
        for output in operation.outputs
        if output.dtype != tf.resource and ROWS in (output.shape.as_list() if output.shape else [])
    ]


def test_a_lookup_in_a_variable_that_replicas_have_copies_of_reads_its_rows_alone() -> None:
    """As all-reduce's variables are: TensorFlow itself would read the whole."""
    replica_lookups.install()
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        layer = tf_keras.layers.Embedding(ROWS, WIDTH)
        layer.build(None)

    def of_replica() -> Any:
        with tf.GradientTape() as tape:
            found = layer(tf.constant([[1, 2], [2, 5]]))
        return found, tape.gradient(found, layer.trainable_variables)

    function = tf.function(lambda: strategy.run(of_replica))
    found, (gradient,) = function()
    whole = layer.embeddings.numpy()
    np.testing.assert_array_equal(found, whole[[[1, 2], [2, 5]]])
    assert gradient.indices.numpy().tolist() == [1, 2, 2, 5]
    assert as_large_as_the_table(function.get_concrete_function().graph) == []
    np.testing.assert_array_equal(tf.nn.embedding_lookup(layer.embeddings, [3]), whole[[3]])


class TwiceTheRow(tf_keras.layers.Layer):  # type: ignore[misc]
    """A layer with a look-up of its own; what it finds is multiplied as the policy has it."""

    def build(self, _: Any) -> None:
        self.table = self.add_weight("table", [ROWS, WIDTH])

    def call(self, ids: Any) -> Any:
        return tf.nn.embedding_lookup(self.table, ids) * tf.constant(2, self.compute_dtype)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_lookup_in_such_a_variable_has_the_type_that_the_layer_computes_in(policy: str) -> None:
    replica_lookups.install()
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        layer = TwiceTheRow(dtype=policy)
        layer.build(None)

    def of_replica() -> Any:
        with tf.GradientTape() as tape:
            found = layer(tf.constant([3]))
        return found, tape.gradient(found, layer.table)

    found, gradient = tf.function(lambda: strategy.run(of_replica))()
    assert found.dtype == layer.compute_dtype
    assert (gradient.dtype, gradient.indices.numpy().tolist()) == (tf.float32, [3])


def before(operation: Any) -> set[Any]:
    """All operations that are over when this one begins."""
    found, rest = set(), [operation]
    while rest:
        one = rest.pop()
        for other in (*one.control_inputs, *(tensor.op for tensor in one.inputs)):
            if other not in found:
                found.add(other)
                rest.append(other)
    return found


def those_of(graph: Any, kind: str, variable: Any) -> list[Any]:
    """The operations of a kind that are on a variable."""
    (handle,) = [inner for outer, inner in graph.captures if outer is variable.handle]
    return [
        operation
        for operation in graph.get_operations()
        if operation.type == kind and operation.inputs[0] is handle
    ]


def test_a_gradient_is_in_adams_second_moment_whenever_it_is_in_the_first() -> None:
    """Threads meet too rarely between two operations to show it."""
    variable = table()
    optimizer = made("Adam", variable)
    m, v = slots(optimizer, variable)

    @tf.function
    def update() -> None:
        optimizer.apply_gradients([(sparse([1, 2], np.ones([2, WIDTH])), variable)])

    graph = update.get_concrete_function().graph
    (m_read,), (v_read,) = (those_of(graph, "ResourceGather", one) for one in (m, v))
    changes = (those_of(graph, "ResourceSparseApplyMomentum", one) for one in (m, v))
    (m_changed,), (v_changed,) = changes
    assert m_read in before(v_read)
    assert v_changed in before(m_changed)


@contextmanager
def workers(update: Callable[[int], None], number: int = 4) -> Iterator[None]:
    """So many threads that update, until the block is left."""
    over = threading.Event()

    def go_on(index: int) -> None:
        while not over.is_set():
            update(index)

    threads = [threading.Thread(target=go_on, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def largest_ratio(m: Any, v: Any) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.abs(m) / np.sqrt(v)))


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_adams_moments_stay_together_when_four_workers_update_at_once(kind: str) -> None:
    """Gradients are of very different sizes: one whose square is lost shows at once."""
    rows, width = 256, 1024  # large enough that one worker is often in the middle of another's
    variable = tf.Variable(tf.zeros([rows, width]))
    optimizer = made("Adam", variable)
    m, v = slots(optimizer, variable)
    sizes = tf.constant([10.0 ** -(at % 7) for at in range(rows)])

    @tf.function
    def update() -> None:
        for _ in tf.range(5):
            values = tf.random.shuffle(sizes)[:, tf.newaxis] * tf.ones([rows, width])
            gradient: Any = values
            if kind == "sparse":
                gradient = tf.IndexedSlices(values, tf.range(rows), (rows, width))
            optimizer.apply_gradients([(gradient, variable)])

    update()
    ratios = []
    with workers(lambda _: update()):
        for _ in range(400):
            m_now = m.numpy()
            ratios.append(largest_ratio(m_now, v.numpy()))
    assert max(ratios) < LARGEST_RATIO * 1.5


def test_adams_moments_stay_together_when_32_workers_are_in_the_middle_of_an_update() -> None:
    """In one graph on one thread: each operation comes for all workers before the next one."""
    number, rows = 32, 4
    ratios = []
    with tf.Graph().as_default():
        variable = tf.Variable(tf.zeros([rows, WIDTH]))
        optimizer = made("Adam", variable)
        updates = [
            optimizer.apply_gradients(
                [(tf.IndexedSlices(tf.random.normal([rows, WIDTH]) + 1, tf.range(rows)), variable)]
            )
            for _ in range(number)
        ]
        one_thread = tf.compat.v1.ConfigProto(
            inter_op_parallelism_threads=1, use_per_session_threads=True
        )
        with tf.compat.v1.Session(config=one_thread) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            for _ in range(100):
                session.run(updates)
                ratios.append(largest_ratio(*session.run(slots(optimizer, variable))))
    assert max(ratios) < LARGEST_RATIO * 0.999 ** (-number / 2)


def test_a_checkpoints_copy_has_the_second_moment_as_late_as_the_first() -> None:
    """Others go on updating while it is taken."""
    variable = table()
    optimizer = made("Adam", variable)
    spec = TensorSpec((ROWS, WIDTH), "float32")
    model = SimpleNamespace(trainable_variables=[variable])
    stored = checkpoint_variables.of_optimizer(
        optimizer, [StoredTensor("model/table", spec, (variable,))], model
    )
    m, v = slots(optimizer, variable)
    graph = tf.function(lambda: reading.read_ops(stored)).get_concrete_function().graph
    (m_read,), (v_read,) = (those_of(graph, "ReadVariableOp", one) for one in (m, v))
    assert m_read in before(v_read)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adagrad"])
def test_of_four_workers_updates_of_the_same_rows_none_is_lost(name: str) -> None:
    """Every gradient is 1, so it does not matter which update came first."""
    rows, width, each = 64, 512, 500
    ours, theirs = tf.Variable(tf.zeros([rows, width])), tf.Variable(tf.zeros([1, 1]))
    optimizer, expected = made(name, ours), reference.OPTIMIZERS[name](RATE)

    @tf.function
    def update() -> None:
        for _ in tf.range(each):
            ones = tf.IndexedSlices(tf.ones([rows, width]), tf.range(rows), (rows, width))
            optimizer.apply_gradients([(ones, ours)])

    threads = [threading.Thread(target=update) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(4 * each):
        expected.apply_gradients([(tf.ones([1, 1]), theirs)])
    np.testing.assert_allclose(ours.numpy(), np.full([rows, width], theirs.numpy()), rtol=1e-3)
