"""Several batches a step: what they give, and how often they read a variable that is elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Program, exit_codes
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.protocol import Progress, Ready, Result
from tf_cluster_trainer.strategies.step.gradients import Gradients

from tests.support.children import Children
from tests.support.trainings import HERE, context
from tests.trainer.child.programs.fixed import Fixed, examples
from tests.trainer.strategies.reference import BATCH, FIXED, RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.turns import AS_IN_ONE_PROCESS, turn

SPECS = (tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None, 3], tf.int64))


def batch_of(rows: int) -> tuple[Any, Any]:
    inputs, labels = examples(0, 1)
    whole = (inputs["numbers"], inputs["words"]), labels
    return tf.nest.map_structure(lambda part: tf.constant(part[:rows]), whole)


def in_micro_batches(batch: Any, number: int) -> Any:
    return tf.nest.map_structure(
        lambda part: tf.reshape(part, [number, -1, *part.shape[1:]]), batch
    )


def reads(model: Any, graph: Any) -> dict[str, int]:
    """How often a graph reads each of the model's variables whole, those of it that it does."""
    names = {id(v.handle): v.name.partition(":")[0] for v in model.variables}
    inside = {id(inner): names.get(id(outer)) for outer, inner in graph.captures}
    found: dict[str, int] = {}
    for operation in graph.get_operations():
        if operation.type == "ReadVariableOp":
            name = inside.get(id(operation.inputs[0]))
            if name:
                found[name] = found.get(name, 0) + 1
    return found


def test_the_gradients_are_those_of_one_batch_of_all_the_examples(tmp_path: Path) -> None:
    """Dense and sparse ones, and a regularization loss."""
    program = Fixed()
    model = build_model(program, context(tmp_path), SPECS)
    batch = batch_of(12)
    whole, measures = Gradients(program, model, (), 1).unchecked(*batch)
    parts = tf.function(Gradients(program, model, (), 3).unchecked)
    summed, their_measures = parts(*in_micro_batches(batch, 3))
    np.testing.assert_allclose(their_measures, measures, rtol=1e-6)
    for one, other in zip(summed, whole, strict=True):
        assert isinstance(one, tf.IndexedSlices) == isinstance(other, tf.IndexedSlices)
        np.testing.assert_allclose(
            tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-5, atol=1e-7
        )


def test_a_variable_is_read_once_and_looked_up_rows_are_no_read_of_the_whole(
    tmp_path: Path,
) -> None:
    program = Fixed()
    model = build_model(program, context(tmp_path), SPECS)
    step = tf.function(Gradients(program, model, (), 4).unchecked)
    graph = step.get_concrete_function(*in_micro_batches(batch_of(8), 4)).graph
    assert reads(model, graph) == dict.fromkeys(
        ("hidden/kernel", "hidden/bias", "out/kernel", "out/bias"), 1
    )
    gathers = [op for op in graph.get_operations() if op.type == "ResourceGather"]
    assert len(gathers) == 4


class Tied(Program):
    """The embedding is looked up and multiplied with, the model casts, and has a loop."""

    def build_model(self, ctx: Any) -> Any:
        return TiedModel()

    def dataset(self, ctx: Any, input_context: Any) -> Any:
        raise NotImplementedError


class TiedModel(tf_keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = self.add_weight("table", (12, 4))
        self.bias = self.add_weight("bias", (4,))

    def call(self, words: Any, training: bool = False) -> Any:
        found = tf.reduce_sum(tf.gather(self.table, words), axis=1)
        looped = tf.while_loop(
            lambda at, value: at < 3,
            lambda at, value: (at + 1, value + self.bias),
            (0, found),
        )[1]
        return tf.matmul(looped, self.table, transpose_b=True)


def test_a_variable_that_is_read_whole_looked_up_and_used_in_a_loop_has_one_gradient(
    tmp_path: Path,
) -> None:
    program = Tied()
    words = tf.constant([[1, 2], [3, 3], [0, 11], [5, 1]], tf.int64)
    labels = tf.one_hot([1, 2, 3, 4], 12)
    model = build_model(program, context(tmp_path), tf.TensorSpec([None, 2], tf.int64))
    whole, _ = Gradients(program, model, (), 1).unchecked(words, labels)
    step = tf.function(Gradients(program, model, (), 2).unchecked)
    split = tf.reshape(words, [2, 2, 2]), tf.reshape(labels, [2, 2, 12])
    found, _ = step(*split)
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-5, atol=1e-7
        )
    assert reads(model, step.get_concrete_function(*split).graph) == {"table": 1, "bias": 1}


def test_mixed_precision_reads_once_too(tmp_path: Path) -> None:
    program = Fixed()
    model = build_model(program, context(tmp_path), SPECS, "mixed_bfloat16")
    assert model.get_layer("hidden").compute_dtype == "bfloat16"
    step = tf.function(Gradients(program, model, (), 2).unchecked)
    graph = step.get_concrete_function(*in_micro_batches(batch_of(8), 2)).graph
    assert reads(model, graph)["hidden/kernel"] == 1


@turn(AS_IN_ONE_PROCESS, of="in-graph async")
def test_in_graph_async_with_one_worker_is_what_one_process_computes(
    one_worker: Children, tmp_path: Path
) -> None:
    told = {"module": FIXED, "path": HERE, "per_call": 7, "batch": 4, "micro": 2}
    named = {"name": "Adam", "learningRate": RATE}
    chief = one_worker.chief(run_id="micro", steps=STEPS, optimizer=named, **told)
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert chief.of(Progress)[-1].examples == STEPS * BATCH
    assert_as_in_one_process(one_worker, "micro", STEPS, tmp_path, optimizer="Adam")


def test_the_digits_are_learnt_with_partitioned_variables(one_worker: Children) -> None:
    """dense/kernel is 1 MiB: a part on each ps."""
    told = {"steps": 300, "batch": 16, "micro": 4, "flags": {"units": 1024}}
    chief = one_worker.chief(run_id="micro-digits", **told)
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert chief.of(Result)[0].metrics["accuracy"] >= 0.95
