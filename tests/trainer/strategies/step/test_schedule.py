"""The learning rate's formula, against tf_keras' own schedules, and what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import config, exit_codes
from tf_cluster_trainer.checkpoint import read as checkpoint_read
from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.checkpoint.variables import ITERATIONS, StoredTensor
from tf_cluster_trainer.config import Optimizer, Schedule
from tf_cluster_trainer.protocol import Ready
from tf_cluster_trainer.strategies.step import schedule

from tests.support.children import Children, training
from tests.support.trainings import HERE
from tests.trainer.strategies.falling import (
    FALLING,
    SLOWING,
    SLOWING_STEPS,
    assert_fell_by_the_rates,
)
from tests.trainer.strategies.turns import AS_IN_ONE_PROCESS, turn

SCHEDULES = tf_keras.optimizers.schedules
RATE, STEPS = 0.5, 200


def told(tmp_path: Path, **optimizer: Any) -> Optimizer:
    """What the trainer makes of these settings in a training.json of STEPS steps."""
    named = {"name": "SGD", "learningRate": RATE, **optimizer}
    hosts = {kind: ["127.0.0.1:1"] for kind in ("chief", "worker", "ps")}
    cluster = {"version": 1, "attempt": "test", "cluster": hosts, "status": hosts}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    document = training(tmp_path, steps=STEPS, optimizer=named)
    (tmp_path / "training.json").write_text(json.dumps(document))
    environment = {"TF_CLUSTER_CONFIG": str(tmp_path), "TF_CLUSTER_TASK_TYPE": "chief"}
    return config.load(environment).settings.optimizer


@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        pytest.param(
            {"name": "cosine", "decaySteps": 80, "endFactor": 0.1},
            SCHEDULES.CosineDecay(RATE, 80, alpha=0.1),
            id="cosine",
        ),
        pytest.param(
            {"name": "cosine", "warmupSteps": 20},
            SCHEDULES.CosineDecay(0.0, STEPS - 20, warmup_target=RATE, warmup_steps=20),
            id="cosine-after-a-warm-up",
        ),
        pytest.param(
            {"name": "linear", "endFactor": 0.2},
            SCHEDULES.PolynomialDecay(RATE, STEPS, end_learning_rate=0.2 * RATE),
            id="linear",
        ),
        pytest.param(
            {"name": "exponential", "endFactor": 0.01},
            SCHEDULES.ExponentialDecay(RATE, STEPS, decay_rate=0.01),
            id="exponential",
        ),
    ],
)
def test_the_rate_is_that_of_keras_schedules_in_numbers_and_in_a_graph(
    tmp_path: Path, settings: dict[str, Any], theirs: Any
) -> None:
    optimizer = told(tmp_path, schedule=settings)
    for step in range(STEPS + 1):
        expected = float(theirs(step))
        in_graph = schedule.rate(optimizer, tf.constant(step, tf.float64), tf)
        assert schedule.rate(optimizer, step, np) == pytest.approx(expected, rel=1e-5, abs=1e-7)
        assert float(in_graph) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["cosine", "linear", "exponential"])
def test_the_rate_stays_after_the_decay(name: str) -> None:
    optimizer = Optimizer("SGD", RATE, None, Schedule(name, 50, 0.25, 10))
    assert [schedule.rate(optimizer, step, np) for step in (10, 60, 1000)] == [
        RATE,
        pytest.approx(RATE / 4),
        pytest.approx(RATE / 4),
    ]


def test_a_warm_up_alone_rises_and_then_stays(tmp_path: Path) -> None:
    optimizer = told(tmp_path, schedule={"name": "constant", "warmupSteps": 10})
    rates = [schedule.rate(optimizer, step, np) for step in (0, 5, 10, STEPS)]
    assert rates == [0, RATE / 2, RATE, RATE]


def test_without_a_schedule_there_is_nothing_to_compute(tmp_path: Path) -> None:
    nothing = {"name": "constant", "warmupSteps": 0, "decaySteps": None, "endFactor": None}
    assert told(tmp_path).schedule is None
    assert told(tmp_path, schedule=nothing).schedule is None
    assert schedule.rate(told(tmp_path), 7, np) == RATE


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "exponential"},
        {"name": "exponential", "endFactor": 0},
        {"name": "constant", "decaySteps": 5},
        {"name": "constant", "endFactor": 0.5},
        {"name": "step"},
        {"warmupSteps": 5},
    ],
)
def test_a_schedule_that_means_nothing_is_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(config.ConfigError, match="/train/optimizer/schedule"):
        told(tmp_path, schedule=settings)


def saved_with(optimizer: str, directory: Path) -> Checkpoint:
    """A checkpoint of step 100 whose optimizer had counted 130 updates."""
    pieces = [[Piece("model/w", np.ones(2, np.float32)), Piece(ITERATIONS, np.int64(130))]]
    specs = {"model/w": TensorSpec((2,), "float32"), ITERATIONS: TensorSpec((), "int64")}
    meta = Meta(100, 3200, {"0": 100}, optimizer, specs)
    into = checkpoint_write.temporary_of(directory, 100)
    path = checkpoint_write.write(meta, pieces, into, check_owner=lambda: None)
    return checkpoint_read.read(path)


@pytest.mark.parametrize(("before", "ahead"), [("Adam", -30), ("SGD", 100)])
def test_the_run_goes_on_at_its_step_whatever_the_optimizer_had_counted(
    before: str, ahead: int, tmp_path: Path
) -> None:
    """The count itself goes with the slots, whose bias it corrects."""
    restored = saved_with(before, tmp_path)
    stored = [StoredTensor(key, spec, ()) for key, spec in restored.meta.tensors.items()]
    assert restore.resume_point_of(restored, "Adam").optimizer_lag == ahead
    pieces = restore.chosen(restored, "Adam", stored, check_owner=lambda: None)
    chosen = [one.key for some in pieces for one in some]
    assert chosen == ["model/w", *([ITERATIONS] if before == "Adam" else [])]


@turn(AS_IN_ONE_PROCESS, of="in-graph async")
def test_the_rate_follows_the_step_of_all_workers_and_goes_on_after_a_new_start(
    world: Children,
) -> None:
    """By its own steps each worker would be at twice the rate or more."""
    told = {"module": FALLING, "path": HERE, "per_call": 7, "optimizer": SLOWING}
    for steps in (200, SLOWING_STEPS):
        chief = world.chief(run_id="slowing", steps=steps, **told)
        chief.wait_for(Ready)
        chief.go()
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert_fell_by_the_rates(world, "slowing")
