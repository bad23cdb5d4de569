"""The state's variables on the ps: where they begin, and that none is in memory twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, tensor_pb2
from tf_cluster_trainer.strategies.between_graph import variables
from tf_cluster_trainer.strategies.step import state_memory

from tests.support.trainings import HERE
from tests.trainer.strategies.between_graph import states

ROWS, WIDTH = 2_000_000, 16
MIB = ROWS * WIDTH * 4 / 2**20

# It begins the variables of a table, and updates some rows of each.
MEMORY = """
import json, os, sys
from types import SimpleNamespace
import tensorflow as tf
from tf_cluster_trainer.strategies.between_graph.state import StateInitializer
from tests.bench import processes
from tests.trainer.strategies.between_graph import states
from tests.trainer.strategies.between_graph.test_variables import ROWS, WIDTH

def own():
    return processes.resident(os.getpid(), "RssAnon") / 2**20

with tf.Graph().as_default() as graph:
    state = states.made({"model/table": (ROWS, WIDTH)}, sys.argv[1])
    parts = [one.parts[0] for one in state.stored]
    operations = StateInitializer(SimpleNamespace(state=state, ps=1))
    tables = [part for part in parts if part.shape.rank == 2]
    updates = [
        tf.raw_ops.ResourceScatterAdd(
            resource=table.handle, indices=[1, ROWS - 1], updates=tf.ones([2, WIDTH])
        )
        for table in tables
    ]
    rows = [tf.gather(table, [0, ROWS - 1]) for table in tables]
with tf.compat.v1.Session(states.ps_of_one(), graph=graph) as session:
    before = own()
    session.run([operations.no_members, operations.initialize])
    session.run(updates)
    told = {"tables": len(tables), "MiB": own() - before}
    told["values"] = [row[:, 0].tolist() for row in session.run(rows)]
print(json.dumps(told))
"""


@pytest.mark.parametrize(
    ("optimizer", "begin"),
    [("SGD", [0]), ("Momentum", [0, 0]), ("Adam", [0, 0, 0]), ("Adagrad", [0, 0.1])],
)
def test_a_ps_has_memory_for_each_large_variable_once(optimizer: str, begin: list[float]) -> None:
    """Zeros that TensorFlow makes a constant of are kept, and copied by the first update."""
    command = (sys.executable, "-c", MEMORY, optimizer)
    ran = subprocess.run(
        command, cwd=HERE, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["tables"] == len(begin)
    np.testing.assert_allclose(told["values"], [[first, first + 1] for first in begin], rtol=1e-6)
    assert told["MiB"] < len(begin) * MIB + 70  # what a session takes, too


def test_where_a_state_lies_is_told_with_slots() -> None:
    shapes = {"model/large": (ROWS, WIDTH), "model/small": (ROWS // 10, WIDTH)}
    with tf.Graph().as_default():
        state = states.made(shapes, ps=2)
    found, table = state_memory.spread_of(state.stored), 3 * ROWS * WIDTH * 4
    assert found.largest == table
    assert 0 <= found.fullest - table <= 8  # the iterations


def three_and_the_last_again() -> Any:
    """As TensorFlow itself writes such a constant."""
    described = tensor_pb2.TensorProto(dtype=tf.float32.as_datatype_enum)
    described.tensor_shape.CopyFrom(tf.TensorShape([2048, 256]).as_proto())
    described.float_val.extend([1, 2, 3])
    kinds = {
        "value": attr_value_pb2.AttrValue(tensor=described),
        "dtype": attr_value_pb2.AttrValue(type=tf.float32.as_datatype_enum),
    }
    graph = tf.compat.v1.get_default_graph()
    return graph.create_op("Const", [], [tf.float32], attrs=kinds).outputs[0]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(lambda: tf.fill([2048, 256], np.float32(7)), id="fill"),
        pytest.param(lambda: tf.constant(7.0, shape=[2048, 256]), id="constant"),
        pytest.param(lambda: tf.constant(7, tf.int64, [2048, 256]), id="int64"),
        pytest.param(lambda: tf.constant(np.arange(2048.0 * 256).reshape(2048, 256)), id="values"),
        pytest.param(lambda: tf.fill([2048, 256], tf.constant(7, tf.bfloat16)), id="bfloat16"),
        pytest.param(lambda: tf.fill([2048, 1024], True), id="bool"),
        pytest.param(lambda: three_and_the_last_again(), id="last"),
        pytest.param(lambda: tf.fill([3], "text"), id="text"),
        pytest.param(lambda: tf.constant(True), id="scalar"),
        pytest.param(lambda: tf.zeros([0, 4]), id="empty"),
    ],
)
def test_a_variable_begins_with_its_own_value(value: Any) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.Variable(value)
        session.run(variables.initializer(variable))
        found, wanted = session.run([variable.read_value(), variable.initial_value])
    np.testing.assert_array_equal(found, wanted)
