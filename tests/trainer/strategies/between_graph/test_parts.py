"""A large variable is in parts on the ps: the same values, and a share for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Placement, Result
from tf_cluster_trainer.ps_volume.shares import task_of

from tests.slices import sliced
from tests.support.children import Child
from tests.support.trainings import saved
from tests.trainer.child.programs.recurrent import UNITS
from tests.trainer.strategies.reference import BATCH, RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.ways import trained, two_workers

IN_PARTS = "tests.trainer.child.programs.in_parts:"
BETWEEN_GRAPH = [f"parameter-server-between-graph-{update}" for update in ("async", "sync")]
TOLD = {"batch": BATCH, "per_call": 7, "steps": STEPS, "module": f"{IN_PARTS}Fixed"}


def done(worker: Child) -> Result:
    assert worker.exit_code() == exit_codes.DONE, worker.tail()
    (result,) = worker.of(Result)
    return result


def devices(worker: Child) -> dict[str, str]:
    (placement,) = worker.of(Placement)
    return {name: task_of(device) for name, device in placement.devices.items()}


@pytest.mark.parametrize(
    ("micro", "optimizer"),
    sliced(
        [
            pytest.param(micro, optimizer, id=f"{micro}-{optimizer}")
            for micro in (1, 2)
            for optimizer in ("SGD", "Momentum", "Adam", "Adagrad")
        ],
        1,
    ),
)
def test_a_sync_step_in_parts_is_what_one_process_computes(
    optimizer: str, micro: int, tmp_path: Path
) -> None:
    """Some batches have no row of one of the table's parts."""
    named = {"name": optimizer, "learningRate": RATE}
    with two_workers(BETWEEN_GRAPH[1], tmp_path) as (world, settings):
        told = {**TOLD, "optimizer": named, "batch": BATCH // micro, "micro": micro}
        worker = trained(world, **told, **settings)
        assert done(worker).step == STEPS
        assert len(set(devices(worker).values())) == 2
        assert "embedding/embeddings/part_1" in devices(worker)
        assert_as_in_one_process(world, "1", STEPS, tmp_path, optimizer=optimizer)


@pytest.mark.parametrize("replication", ["in-graph", "between-graph"])
def test_rows_that_a_layer_gathers_are_those_of_its_ids(replication: str, tmp_path: Path) -> None:
    """As those that an embedding looks up. In-graph, parts begin with values of their own."""
    kept = []
    for module in ("Fixed", "Gathers"):
        way = f"parameter-server-{replication}-sync"
        with two_workers(way, tmp_path / module) as (world, settings):
            named = {"name": "Momentum", "learningRate": RATE}
            told = {**TOLD, "module": f"{IN_PARTS}{module}", "optimizer": named}
            client = trained(world, **told, **settings)
            assert done(client).step == STEPS
            assert "embedding/embeddings/part_1" in devices(client)
            kept.append(saved(world, "1", STEPS))
    one, other = kept
    for name, value in one.items():
        np.testing.assert_allclose(other[name], value, rtol=2e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("combination", sliced(BETWEEN_GRAPH, 1))
def test_a_recurrent_net_trains_in_parts(combination: str, tmp_path: Path) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        optimizer = {"name": "Adam", "learningRate": 0.005}
        module = f"{IN_PARTS}Recurrent"
        worker = trained(world, module=module, optimizer=optimizer, steps=60, **settings)
        step = done(worker).step
        assert any(name.endswith("gru_cell/kernel/part_1") for name in devices(worker))
        kept = saved(world, "1", step)
        assert kept["gru/gru_cell/kernel"].shape == (2 * UNITS, 3 * UNITS)


@pytest.mark.parametrize("combination", sliced(BETWEEN_GRAPH, 1))
def test_a_variable_whose_constraint_needs_all_rows_stays_whole(
    combination: str, tmp_path: Path
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        sgd = {"name": "SGD", "learningRate": 0.5}
        worker = trained(world, **{**TOLD, "module": f"{IN_PARTS}Bound"}, optimizer=sgd, **settings)
        kept = saved(world, "1", done(worker).step)
        assert "out/kernel" in devices(worker)
        np.testing.assert_allclose(np.linalg.norm(kept["out/kernel"]), 0.01, rtol=1e-3)


@pytest.mark.parametrize("combination", sliced(BETWEEN_GRAPH, 1))
def test_a_model_that_can_not_be_in_parts_is_whole_and_the_log_says_why(
    combination: str, tmp_path: Path
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told: dict[str, Any] = {**TOLD, "module": f"{IN_PARTS}NotInParts", **settings}
        worker = trained(world, **told)
        done(worker)
        assert "each variable stays whole, on one ps, since in parts: " in worker.text()
        assert "no variable" in worker.text()
