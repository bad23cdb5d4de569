"""train.precision and train.xla, in every combination of strategy, replication and update."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.child import device_flags
from tf_cluster_trainer.config import COMBINATIONS as ROWS
from tf_cluster_trainer.config import Combination
from tf_cluster_trainer.protocol import Failure, Result

from tests.slices import sliced
from tests.support.children import DIGITS, Children
from tests.support.trainings import context, saved
from tests.trainer.strategies import reference
from tests.trainer.strategies.reference import BATCH, FIXED, RATE, STEPS
from tests.trainer.strategies.ways import COMBINATIONS, trained, two_workers

RECOMMENDER = "tests.trainer.child.programs.recommender:Recommender"
PRECISE = "tests.trainer.child.programs.precise:Precise"
# What XLA says in a process that compiled something.
COMPILED = "Compiled cluster using XLA"
IN_GRAPH_ASYNC, ALL_REDUCE = ROWS[0], ROWS[-1]
SYNCHRONOUS = [name for name, words in COMBINATIONS.items() if words[2] == "sync"]


@pytest.fixture(params=sliced(list(COMBINATIONS), 1))
def combination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Children, Any]]:
    """A world of two workers for one training, and its settings."""
    with two_workers(request.param, tmp_path, TF_CPP_MIN_LOG_LEVEL="0") as made:
        yield made


def workers_said(world: Children) -> str:
    return "".join(child.text() for child in world.children if "worker" in child.log.name)


def test_bfloat16_and_xla_train_with_micro_batches_and_what_is_kept_is_float32(
    combination: tuple[Children, Any],
) -> None:
    world, settings = combination
    client = trained(
        world,
        module=PRECISE,
        steps=200,
        micro=2,
        precision="mixed_bfloat16",
        xla=True,
        **settings,
    )
    assert client.exit_code() == exit_codes.DONE, client.tail()
    (result,) = client.of(Result)
    assert result.metrics["accuracy"] >= 0.9
    (step,) = world.checkpoints()
    assert {value.dtype.name for value in saved(world, "1", step).values()} == {"float32"}
    served = tf.saved_model.load(result.export).signatures["serving_default"]
    assert {output.dtype for output in served.structured_outputs.values()} == {tf.float32}
    assert COMPILED in workers_said(world)


def test_a_model_of_tables_trains_with_xla(combination: tuple[Children, Any]) -> None:
    """How many rows a step sends is known only then, and XLA wants sizes before."""
    world, settings = combination
    optimizer = {"name": "Adam", "learningRate": RATE}
    client = trained(world, module=RECOMMENDER, steps=50, xla=True, optimizer=optimizer, **settings)
    assert client.exit_code() == exit_codes.DONE, client.tail()
    assert COMPILED in workers_said(world)


# Where updates are asynchronous, which one comes first is not fixed.
@pytest.mark.full
@pytest.mark.parametrize("combination", SYNCHRONOUS, indirect=True)
def test_xla_computes_what_the_model_says(
    combination: tuple[Children, Any], tmp_path: Path
) -> None:
    world, settings = combination
    optimizer = {"name": "Adam", "learningRate": RATE}
    client = trained(
        world,
        module=FIXED,
        steps=STEPS,
        xla=True,
        optimizer=optimizer,
        **{**settings, "batch": BATCH},
    )
    assert client.exit_code() == exit_codes.DONE, client.tail()
    expected = reference.train(
        context(tmp_path), workers=2, batch=BATCH, steps=STEPS, optimizer="Adam", rate=RATE
    )
    found = saved(world, "1", STEPS)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=5e-4, atol=5e-5, err_msg=name)


@pytest.mark.full
def test_a_nan_loss_still_stops_with_the_step(combination: tuple[Children, Any]) -> None:
    world, settings = combination
    optimizer = {"name": "SGD", "learningRate": 1e30}
    client = trained(world, module=DIGITS, steps=100_000, xla=True, optimizer=optimizer, **settings)
    assert client.exit_code() == exit_codes.CONFIG, client.tail()
    assert re.search(r"NaN or infinite", client.of(Failure)[-1].message)
    assert world.checkpoints() == []


@pytest.mark.parametrize(
    ("task_type", "combination", "gpus"),
    [
        ("worker", ALL_REDUCE, None),
        ("worker", IN_GRAPH_ASYNC, "0"),
        ("ps", IN_GRAPH_ASYNC, ""),
        ("chief", IN_GRAPH_ASYNC, ""),
    ],
)
def test_a_worker_has_the_gpus_that_its_strategy_can_use_and_others_have_none(
    task_type: str, combination: Combination, gpus: str | None
) -> None:
    environment: dict[str, str] = {}
    device_flags.give(environment, task_type, combination, xla=False)
    assert environment.get("CUDA_VISIBLE_DEVICES") == gpus
    assert environment["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert "TF_XLA_FLAGS" not in environment


def test_what_the_environment_says_of_devices_wins() -> None:
    told = {
        "TF_FORCE_GPU_ALLOW_GROWTH": "false",
        "CUDA_VISIBLE_DEVICES": "1",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=1",
    }
    found = dict(told)
    device_flags.give(found, "worker", IN_GRAPH_ASYNC, xla=True)
    assert found["TF_XLA_FLAGS"].endswith(" --tf_xla_auto_jit=1")
    assert found["TF_XLA_FLAGS"] != told["TF_XLA_FLAGS"]
    assert {**found, "TF_XLA_FLAGS": ""} == {**told, "TF_XLA_FLAGS": ""}
