"""Tensors that go between tasks together: the step computes the same, and waits for no ring.

A step is traced for tasks that need not exist. Then it runs here, without their devices.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.strategies.step import devices
from tf_cluster_trainer.strategies.step.shared_sends import (
    MESSAGE_BYTES,
    MESSAGES,
    MOST_BYTES,
    shared_sends,
)

WORKER, PS, OTHER_PS = devices.worker(0), devices.ps(0), devices.ps(1)
ROWS = 8
NUMBERS = itertools.count()

Step = Callable[..., Any]


def traced(step: Step, *specs: tf.TensorSpec, share: bool = True) -> Any:
    """The graph of a step on WORKER."""

    def shared(*given: Any) -> Any:
        with tf.device(WORKER):
            if not share:
                return step(*given)
            with shared_sends(ROWS):
                return step(*given)

    return tf.function(shared, autograph=False).get_concrete_function(*specs).graph


def sent(graph: Any, source: str, target: str) -> int:
    """How many tensors operations at one device get from another."""
    pairs = {
        (tensor.name, user.device)
        for operation in graph.get_operations()
        for tensor in operation.outputs
        for user in tensor.consumers()
        if operation.device == source and user.device == target and tensor.dtype != tf.resource
    }
    return len(pairs)


def kept(name: str, value: Any) -> Any:
    """The handle of a variable on PS that a step has to itself."""
    with tf.device(PS):
        handle = tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=value.shape, shared_name=f"{name}-{next(NUMBERS)}"
        )
        tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return handle


def read(handle: Any) -> Any:
    """A value as TensorFlow reads it."""
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)


def ran(graph: Any, *given: Any) -> list[Any]:
    """What a traced graph returns here."""
    check_order(graph)
    nodes = graph.as_graph_def()
    for node in nodes.node:
        node.device = ""

    def here(*tensors: Any) -> Any:
        names = [tensor.name for tensor in graph.inputs]
        wanted = [
            *(tensor.name for tensor in graph.outputs),
            *(one.name for one in graph.control_outputs),
        ]
        found = tf.graph_util.import_graph_def(
            nodes, dict(zip(names, tensors, strict=True)), wanted, name="step"
        )
        with tf.control_dependencies(found[len(graph.outputs) :]):
            return [tf.identity(one) for one in found[: len(graph.outputs)]]

    return [one.numpy() for one in tf.function(here, autograph=False)(*given)]


def check_order(graph: Any) -> None:
    """Raise CycleError for operations that wait for one another in a ring."""
    waits = {
        one.name: [
            *(tensor.op.name for tensor in one.inputs),
            *(other.name for other in one.control_inputs),
        ]
        for one in graph.get_operations()
    }
    TopologicalSorter(waits).prepare()


def test_ids_rows_and_gradients_of_many_tables_are_a_tensor_each() -> None:
    values = [np.random.default_rng(width).normal(size=[5, width]) for width in (4, 2, 4)]

    def step(ids: Any) -> list[Any]:
        tables = [kept("table", tf.constant(value, tf.float32)) for value in values]
        # As a look-up of tf_keras' has it: the device is the worker's, the table's counts.
        rows = [
            tf.raw_ops.ResourceGather(
                resource=table, indices=tf.unique(ids).y + at, dtype=tf.float32
            )
            for at, table in enumerate(tables)
        ]
        with tf.control_dependencies([tf.tanh(one) for one in rows]):
            changes = [
                tf.raw_ops.ResourceScatterAdd(
                    resource=table, indices=tf.range(tf.shape(one)[0]), updates=one / 7
                )
                for table, one in zip(tables, rows, strict=True)
            ]
        with tf.control_dependencies(changes):
            return [tf.identity(read(table)) for table in tables]

    spec = tf.TensorSpec([None], tf.int64)
    alone, together = (traced(step, spec, share=share) for share in (False, True))
    ids = tf.constant([2, 1, 2, 0], tf.int64)
    for one, other in zip(ran(alone, ids), ran(together, ids), strict=True):
        np.testing.assert_array_equal(one, other)
    gradients = ("ResourceScatterAdd", 1), ("ResourceScatterAdd", 2)
    for kind, at in (("ResourceGather", 1), ("Tanh", 0), *gradients):
        assert len(_sources(alone, kind, at)) == 3
        assert len(_sources(together, kind, at)) == 1


def _sources(graph: Any, kind: str, at: int) -> set[str]:
    """From which operations those of a kind have an input, before it was split."""
    found = set()
    for operation in graph.get_operations():
        if operation.type == kind:
            source = operation.inputs[at].op
            split = source.inputs[0].op if source.type == "Reshape" else source
            found.add(split.name if split.type == "SplitV" else source.name)
    return found


@pytest.mark.parametrize("count", [2, 26])
def test_small_tensors_are_one_and_a_large_one_goes_alone(count: int) -> None:
    def step(first: Any) -> Any:
        small = [first[:, at] + at for at in range(count)]
        large = tf.zeros([MOST_BYTES // 4 + 1]) + first[0, 0]
        with tf.device(PS):
            return [*(one * 2 for one in small), large * 2]

    spec = tf.TensorSpec([None, count])
    assert sent(traced(step, spec, share=False), WORKER, PS) == count + 1
    together = traced(step, spec)
    assert sent(together, WORKER, PS) == 2
    given = tf.reshape(tf.range(3.0 * count), [3, count])
    for at, found in enumerate(ran(together, given)[:count]):
        np.testing.assert_array_equal(found, (given[:, at] + at) * 2)


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize(("ids", "messages"), [(1, 1), (500, 2)])
def test_a_look_up_is_as_large_as_all_of_its_ids(ids: int, messages: int, once: bool) -> None:
    """How many of them are different is known only then."""
    width = MOST_BYTES // 4 // ROWS // 2  # half of the most for a row of each example

    def step(first: Any) -> list[Any]:
        found = []
        for _ in range(2):
            asked = tf.reshape(first, [-1])
            asked = tf.unique(asked).y if once else asked
            found.append(tf.gather(tf.zeros([9, width]), asked) * 2)
        with tf.device(PS):
            return [tf.identity(one) for one in found]

    graph = traced(step, tf.TensorSpec([None, ids], tf.int32))
    assert sent(graph, WORKER, PS) == messages


def test_ids_of_an_unknown_rank_are_as_many_as_examples() -> None:
    def step(first: Any) -> Any:
        asked = tf.reshape(first, tf.shape(first)[: tf.size(first) % 1])
        found = [tf.reshape(asked, tf.shape(first)[:at]) * 2 for at in (1, 1)]
        with tf.device(PS):
            return [tf.identity(one) for one in found]

    sent(traced(step, tf.TensorSpec(None, tf.int32)), WORKER, PS)


def test_as_many_messages_go_as_a_ps_can_hold_and_the_rest_alone() -> None:
    elements, count = MOST_BYTES // 4, MESSAGES * (MESSAGE_BYTES // MOST_BYTES) + 3

    def step(first: Any) -> list[Any]:
        made = [first * at for at in range(count)]
        with tf.device(PS):
            return [tf.identity(one) for one in made]

    assert sent(traced(step, tf.TensorSpec([elements])), WORKER, PS) == MESSAGES + 3


@pytest.mark.parametrize("dtype", [tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64])
def test_every_type_keeps_its_bits(dtype: tf.DType) -> None:
    def step(first: Any, second: Any, none: Any) -> Any:
        here = [tf.identity(one) for one in (first, second, none)]
        with tf.device(PS):
            return [tf.identity(one) for one in here]

    specs = [tf.TensorSpec([None], dtype), tf.TensorSpec([2, None], dtype)]
    together = traced(step, *specs, specs[0])
    assert sent(together, WORKER, PS) == 1
    values = np.random.default_rng(1).integers(-99, 99, 300)
    given = [tf.cast(one, dtype) for one in (values[:294], values[294:].reshape(2, 3), [])]
    for one, found in zip(given, ran(together, *given), strict=True):
        np.testing.assert_array_equal(one, found)


@pytest.mark.parametrize("named", [lambda handle: handle, tf.identity], ids=["it", "its copy"])
def test_what_is_sent_after_a_change_does_not_wait_with_what_it_needs(named: Any) -> None:
    """TensorFlow has the read wait for the change, once the function is complete."""

    def step(first: Any) -> Any:
        variable, other = (kept("changed", tf.constant(1.0)) for _ in range(2))
        one = first + read(other)
        with tf.device(PS):
            tf.raw_ops.AssignVariableOp(resource=named(variable), value=one * 3)
        two = read(variable) - 1
        with tf.device(PS):
            return two * 2 + one

    assert ran(traced(step, tf.TensorSpec([])), tf.constant(4.0)) == [28 + 5]


@pytest.mark.parametrize("seed", range(60))
def test_steps_drawn_at_random_compute_the_same(seed: int) -> None:
    specs = [tf.TensorSpec([None, 4]), tf.TensorSpec([None, 4]), tf.TensorSpec([4])]
    given = [tf.random.stateless_normal([rows, 4], [seed, rows]) for rows in (3, 5)]
    given.append(tf.range(4.0))
    alone, together = (
        ran(traced(lambda *tensors: _drawn(seed, tensors), *specs, share=share), *given)
        for share in (False, True)
    )
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def _drawn(seed: int, given: tuple[Any, ...]) -> list[Any]:
    """Operations of a worker and two ps, of which some change or read a ps' variables."""
    draw = random.Random(seed)
    found, variables = list(given), [kept("drawn", tf.zeros([4])) for _ in range(3)]
    for _ in range(40):
        with tf.device(draw.choice((WORKER, PS, OTHER_PS))):
            one, kind = draw.choice(found), draw.randrange(6)
            if kind < 2:
                found.append(tf.tanh(one) * draw.random())
            elif kind == 2:
                found.append(one + tf.reduce_mean(draw.choice(found)))
            elif kind == 3:
                found.append(tf.unique(tf.reshape(one, [-1])).y[:, tf.newaxis] * tf.ones([4]))
            elif kind == 4:
                change = tf.ones([4]) * tf.reduce_sum(tf.tanh(one))
                tf.raw_ops.AssignAddVariableOp(resource=draw.choice(variables), value=change)
            else:
                found.append(read(draw.choice(variables)) * 0.5)
    return [*found[len(given) :], *map(read, variables)]
