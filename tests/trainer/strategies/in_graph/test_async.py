"""in-graph async: a step is an update from one worker's batch, of whichever worker is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Progress, Result

from tests.slices import sliced
from tests.support.children import Child, Children
from tests.support.trainings import saved
from tests.trainer.strategies.in_graph import training as in_graph
from tests.trainer.strategies.reference import RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.turns import OWN_PART, turn

OWN_WEIGHT = "tests.trainer.child.programs.own_part:LowersItsOwnWeight"


def done(world: Children, run_id: str, **settings: Any) -> Child:
    """A chief that made all its steps."""
    chief = in_graph.trained(world, run_id, update="async", **settings)
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    return chief


@pytest.mark.parametrize("optimizer", sliced(["SGD", "Momentum", "Adam", "Adagrad"], 1))
def test_with_one_worker_it_is_what_one_process_computes(
    one_worker: Children, tmp_path: Path, optimizer: str
) -> None:
    named = {"name": optimizer, "learningRate": RATE}
    chief = done(one_worker, optimizer, steps=STEPS, optimizer=named)
    assert chief.of(Result)[0].step == STEPS
    assert_as_in_one_process(one_worker, optimizer, STEPS, tmp_path, optimizer=optimizer)


@turn(OWN_PART, of="in-graph")
def test_each_worker_takes_the_part_of_the_data_that_is_its_own(world: Children) -> None:
    told = {"module": OWN_WEIGHT, "optimizer": {"name": "SGD", "learningRate": 1.0}}
    made = done(world, "parts", steps=800, **told).of(Progress)[-1].workers
    assert sum(made.values()) == 800
    assert min(made.values()) > 0
    weights = saved(world, "parts", 800)["of/kernel"][:, 0]
    assert weights.tolist() == [-2 * made["0"], -2 * made["1"]]
