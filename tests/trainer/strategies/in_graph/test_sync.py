"""in-graph sync: every step is exactly one update with the mean gradient of all workers."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Placement, Progress, Result

from tests.slices import sliced
from tests.support.children import Children
from tests.trainer.strategies import reference
from tests.trainer.strategies.in_graph.training import trained
from tests.trainer.strategies.reference import BATCH, RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.turns import AS_IN_ONE_PROCESS, turn


@pytest.mark.parametrize("optimizer", sliced(["SGD", "Momentum", "Adam", "Adagrad"], 1))
def test_a_step_is_one_update_with_the_workers_mean_gradient(
    world: Children, tmp_path: Path, optimizer: str
) -> None:
    run_id = f"sync-{optimizer}"
    chief = trained(world, run_id, steps=STEPS, optimizer={"name": optimizer, "learningRate": RATE})
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    (result,) = chief.of(Result)
    assert result.step == STEPS
    assert_as_in_one_process(world, run_id, STEPS, tmp_path, optimizer=optimizer)


@turn(AS_IN_ONE_PROCESS, of="in-graph sync")
def test_a_step_of_micro_batches_is_one_update_with_the_mean_of_them_all(
    world: Children, tmp_path: Path
) -> None:
    told = {"name": "Adam", "learningRate": RATE}
    chief = trained(world, "sync-micro", steps=STEPS, optimizer=told, batch=4, micro=2)
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert chief.of(Progress)[-1].examples == STEPS * BATCH * 2
    assert_as_in_one_process(world, "sync-micro", STEPS, tmp_path, optimizer="Adam")


@turn(AS_IN_ONE_PROCESS, of="in-graph sync")
def test_the_learning_rate_goes_on_at_the_runs_step_after_a_new_start(
    world: Children, tmp_path: Path
) -> None:
    """Both starts make whole epochs' steps, so the second takes the next rows."""
    for steps in (24, STEPS):
        named = {"name": "Adam", "learningRate": RATE, "schedule": reference.SCHEDULE}
        chief = trained(world, "sync-schedule", steps=steps, optimizer=named)
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert_as_in_one_process(
        world, "sync-schedule", STEPS, tmp_path, optimizer="Adam", rate=reference.SCHEDULED
    )


def test_the_digits_are_learnt_with_every_variable_on_a_ps(world: Children) -> None:
    chief = trained(
        world,
        "digits-sync",
        module="tf_cluster_trainer.examples.digits:Digits",
        steps=300,
        batch=32,
        per_call=None,
    )
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    (result,) = chief.of(Result)
    assert result.metrics["accuracy"] >= 0.95
    (placement,) = chief.of(Placement)
    assert {device[:25] for device in placement.devices.values()} == {
        "/job:ps/replica:0/task:0/",
        "/job:ps/replica:0/task:1/",
    }
    last = chief.of(Progress)[-1]
    assert (last.step, last.examples, last.workers) == (300, 300 * 32 * 2, {"0": 300, "1": 300})


def test_a_stop_is_between_two_whole_steps_and_the_next_start_goes_on(world: Children) -> None:
    chief = trained(world, "stopped", steps=1_000_000, report_seconds=0.1, per_call=50)
    chief.wait_for(Progress, lambda progress: progress.step > 0)
    chief.signal(signal.SIGTERM)
    assert chief.exit_code(deadline=20) == exit_codes.STOPPED, chief.tail()
    (step,) = world.checkpoints("stopped")
    assert step % 50 == 0
    again = trained(world, "stopped", steps=step + 100, update="async")
    assert again.exit_code() == exit_codes.DONE, again.tail()
    (result,) = again.of(Result)
    assert step + 100 <= result.step <= step + 120
    assert again.of(Progress)[0].step == step


def test_a_killed_worker_ends_the_chiefs_child_so_that_it_starts_again(tmp_path: Path) -> None:
    with Children(tmp_path, workers=2, ps=1) as world:
        tasks = world.serve()
        chief = trained(world, "lost", steps=1_000_000, report_seconds=0.1, save_steps=50)
        chief.wait_for(Progress, lambda progress: progress.step > 100)
        tasks["worker-1"].signal(signal.SIGKILL)
        assert chief.exit_code(deadline=30) == exit_codes.PEER_LOST, chief.tail()
        assert "worker-1 is lost" in chief.of(Failure)[-1].message
        world.forks = False  # as in test_faults.py
        world.start("worker", 1)
        step = world.checkpoints("lost")[0]
        again = trained(world, "lost", steps=step + 20)
        assert again.exit_code() == exit_codes.DONE, again.tail()
