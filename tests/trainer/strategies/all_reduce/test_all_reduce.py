"""all-reduce: workers move in lockstep, and each has the mean gradient of all."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Placement, Progress, Result, Saved

from tests.slices import in_turn, sliced
from tests.support.children import DEADLINE, DIGITS, Child, Children, let_go, own
from tests.support.trainings import HERE, saved
from tests.trainer.child.programs.awaiting import BUILDS, give_the_sign, take_it_back
from tests.trainer.strategies import reference
from tests.trainer.strategies.all_reduce.slow_link import SlowLink
from tests.trainer.strategies.in_graph import training as in_graph
from tests.trainer.strategies.reference import BATCH, FIXED, RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.turns import AS_IN_ONE_PROCESS, FAULTS, MOVES, turn

PROGRAMS = "tests.trainer.child.programs."
TWO_DEVICES = f"{PROGRAMS}two_devices:OnTwoDevices"
DEVICES = [FIXED, TWO_DEVICES]
UPDATES = [
    *(pytest.param(name, FIXED, id=name) for name in ("SGD", "Momentum", "Adagrad", "Adam")),
    pytest.param("Adam", TWO_DEVICES, id="Adam-two-devices"),
]
ALL_REDUCE = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Two workers and nobody else."""
    with Children(tmp_path_factory.mktemp("world"), workers=2, ps=0, has_chief=False) as world:
        yield world


def started(world: Children, run_id: str, **settings: Any) -> list[Child]:
    told = {"module": FIXED, "path": HERE, "batch": BATCH, "per_call": 7, **ALL_REDUCE}
    return world.train(run_id=run_id, **{**told, **settings})


def ended(children: list[Child], *, deadline: float = DEADLINE) -> list[int]:
    return [child.exit_code(deadline=deadline) for child in children]


def all_done(children: list[Child]) -> Result:
    """The client's result."""
    assert ended(children) == [exit_codes.DONE] * len(children), children[0].tail()
    (result,) = children[0].of(Result)
    return result


@pytest.mark.parametrize(("optimizer", "program"), sliced(UPDATES, 1))
def test_a_step_is_one_update_with_the_workers_mean_gradient(
    workers: Children, tmp_path: Path, optimizer: str, program: str
) -> None:
    run_id = f"{optimizer}-{program.rpartition(':')[2]}"
    applied = {"name": optimizer, "learningRate": RATE}
    children = started(workers, run_id, steps=STEPS, optimizer=applied, module=program)
    assert all_done(children).step == STEPS
    assert_as_in_one_process(workers, run_id, STEPS, tmp_path, optimizer=optimizer)


@turn(AS_IN_ONE_PROCESS, of="all-reduce")
@pytest.mark.parametrize("program", DEVICES)
def test_a_step_of_micro_batches_is_one_update_with_the_mean_of_them_all(
    workers: Children, tmp_path: Path, program: str
) -> None:
    run_id = f"micro-{program.rpartition(':')[2]}"
    named = {"name": "Adam", "learningRate": RATE}
    told = {"steps": STEPS, "optimizer": named, "module": program, "batch": 4, "micro": 2}
    children = started(workers, run_id, **told)
    all_done(children)
    assert children[0].of(Progress)[-1].examples == STEPS * BATCH * 2
    assert_as_in_one_process(workers, run_id, STEPS, tmp_path, optimizer="Adam")


@turn(AS_IN_ONE_PROCESS, of="all-reduce")
@pytest.mark.parametrize("program", DEVICES)
def test_the_learning_rate_goes_on_at_the_runs_step_after_a_new_start(
    workers: Children, tmp_path: Path, program: str
) -> None:
    """Both starts make whole epochs' steps, so the second takes the next rows."""
    run_id = f"schedule-{program.rpartition(':')[2]}"
    named = {"name": "Adam", "learningRate": RATE, "schedule": reference.SCHEDULE}
    for steps in (24, STEPS):
        told = {"steps": steps, "optimizer": named, "module": program}
        assert all_done(started(workers, run_id, **told)).step == steps
    assert_as_in_one_process(
        workers, run_id, STEPS, tmp_path, optimizer="Adam", rate=reference.SCHEDULED
    )


def test_the_digits_are_learnt(workers: Children) -> None:
    children = started(workers, "digits", module=DIGITS, steps=300, batch=32)
    assert all_done(children).metrics["accuracy"] >= 0.95
    (placement,) = children[0].of(Placement)
    assert set(placement.devices.values()) == {"/job:worker/replica:0/task:0/device:CPU:0"}
    last = children[0].of(Progress)[-1]
    assert (last.step, last.examples, last.workers) == (300, 300 * 32 * 2, {"0": 300, "1": 300})
    assert not children[1].of(Progress)


@in_turn(1, of=2)
def test_one_worker_asked_to_end_ends_all_after_the_same_step_and_they_go_on(
    workers: Children,
) -> None:
    children = started(workers, "stopped", steps=1_000_000, report_seconds=0.1)
    children[0].wait_for(Progress, lambda progress: progress.step > 0)
    children[1].signal(signal.SIGTERM)
    assert ended(children, deadline=20) == [exit_codes.PEER_LOST, exit_codes.STOPPED]
    failure = children[0].of(Failure)[-1]
    assert failure.message == (
        "worker-1 was stopped, and all workers with it; worker-0 saved the run"
    )
    assert failure.lost == ["worker-1"]
    (step,) = workers.checkpoints("stopped")
    assert step % 7 == 0
    again = started(workers, "stopped", steps=step + 20)
    assert all_done(again).step == step + 20
    first, last = again[0].of(Progress)[0], again[0].of(Progress)[-1]
    assert (first.step, first.workers) == (step, {"0": step, "1": step})
    assert last.examples == (step + 20) * BATCH * 2


@turn(FAULTS, of="all-reduce")
def test_a_killed_worker_ends_the_others_and_a_new_start_goes_on(workers: Children) -> None:
    children = started(workers, "lost", steps=1_000_000, report_seconds=0.1, save_steps=50)
    children[0].wait_for(Progress, lambda progress: progress.step > 100)
    children[1].signal(signal.SIGKILL)
    assert children[0].exit_code(deadline=20) == exit_codes.PEER_LOST, children[0].tail()
    assert "worker-1 is lost" in children[0].of(Failure)[-1].message
    step = workers.checkpoints("lost")[-1]
    again = started(workers, "lost", steps=step + 20)
    assert all_done(again).step == step + 20
    assert again[0].of(Progress)[0].step == step


@turn(FAULTS, of="all-reduce")
def test_a_worker_that_is_lost_while_the_model_is_built_is_no_error_of_the_program(
    workers: Children,
) -> None:
    """Each variable is made by all; what TensorFlow raises, it raises in the program's hook."""
    take_it_back(workers.directory)
    children = started(workers, "built", module=f"{PROGRAMS}awaiting:BuildsAtTheSign")
    for child in children:
        child.wait_until_it_says(BUILDS)
    children[1].signal(signal.SIGKILL)
    children[1].exit_code()
    give_the_sign(workers.directory)
    assert children[0].exit_code() == exit_codes.PEER_LOST, children[0].tail()
    failure = children[0].of(Failure)[-1]
    assert failure.message.startswith("worker-1 is lost, and with that the program failed in ")


@turn(FAULTS, of="all-reduce")
def test_worker_0_that_is_silent_for_longer_than_a_heartbeat_is_lost(workers: Children) -> None:
    """As one whose node is cut off: nobody takes it for an error of the program."""
    children = started(workers, "silent", steps=1_000_000, report_seconds=0.1, save_steps=50)
    children[0].wait_for(Saved)
    children[0].signal(signal.SIGSTOP)
    assert children[1].exit_code() == exit_codes.PEER_LOST, children[1].tail()
    assert "worker-0 is lost" in children[1].of(Failure)[-1].message
    children[0].signal(signal.SIGCONT)
    assert children[0].exit_code() == exit_codes.PEER_LOST, children[0].tail()


@turn(MOVES, of="all-reduce")
@in_turn(0, of=2)
def test_a_run_goes_on_from_parameter_servers_and_back(
    workers: Children, world: Children, tmp_path: Path
) -> None:
    """Slots too. The numbers of steps are whole epochs, so that each start takes the next rows."""
    told = {"optimizer": {"name": "Adam", "learningRate": RATE}}
    workers.run_dir("moved").parent.mkdir(parents=True, exist_ok=True)
    world.run_dir("moved").mkdir(parents=True)
    workers.run_dir("moved").symlink_to(world.run_dir("moved"))
    chief = in_graph.trained(world, "moved", steps=24, **told)
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert all_done(started(workers, "moved", steps=36, **told)).step == 36
    chief = in_graph.trained(world, "moved", steps=STEPS, **told)
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert_as_in_one_process(world, "moved", STEPS, tmp_path, optimizer="Adam")


def test_a_loss_that_one_worker_finds_infinite_ends_all_with_the_same_words(
    workers: Children,
) -> None:
    children = started(workers, "infinite", module=f"{PROGRAMS}own_part:OneLossIsInfinite")
    assert ended(children) == [exit_codes.CONFIG] * 2, children[0].tail()
    for child in children:
        assert "the loss became NaN or infinite" in child.of(Failure)[-1].message
    assert not workers.checkpoints("infinite")


@turn(FAULTS, of="all-reduce")
def test_no_worker_leaves_before_the_others_have_all_that_it_sent(tmp_path: Path) -> None:
    """When worker 1 has made its last step, what it sent is still under way for a second."""
    told = {
        **ALL_REDUCE,
        "module": f"{PROGRAMS}own_part:Heavy",
        "path": HERE,
        "batch": 1,
        "per_call": 1,
        "steps": 2,
        "optimizer": {"name": "SGD", "learningRate": 0.001},
    }
    with Children(tmp_path, workers=2, ps=0, has_chief=False) as world:
        own(world.run_dir())
        other = world.start("worker", 1, **told)
        addresses = world.addresses["worker"]
        with closing(SlowLink(addresses[1], bytes_per_second=16e6)) as link:
            addresses[1] = link.address  # for worker 0
            children = [world.start("worker", 0, **told), other]
            let_go(children)
            assert all_done(children).step == 2


@turn(FAULTS, of="all-reduce")
def test_a_worker_that_is_lost_after_its_last_step_costs_the_run_nothing(workers: Children) -> None:
    children = started(workers, "late", module=f"{PROGRAMS}own_part:DiesAfterItsLastStep", steps=20)
    assert ended(children) == [exit_codes.DONE, -signal.SIGKILL], children[0].tail()
    assert children[0].of(Result)[-1].step == 20


def test_a_checkpoint_that_is_not_finite_ends_the_run_at_once(workers: Children) -> None:
    """The others, in their next call, see worker 0 lost."""
    named = {"name": "Adagrad", "learningRate": RATE}
    told = {"steps": 1_000_000, "save_steps": 50, "optimizer": named}
    children = started(workers, "slot", module=f"{PROGRAMS}own_part:SlotOverflows", **told)
    codes = ended(children, deadline=60)
    assert codes == [exit_codes.CONFIG, exit_codes.PEER_LOST], children[0].tail()
    assert "no checkpoint is made of it" in children[0].of(Failure)[-1].message


@turn(FAULTS, of="all-reduce")
def test_a_checkpoint_that_is_being_written_outlives_the_loss_of_a_worker(
    workers: Children,
) -> None:
    told = {"steps": 1_000_000, "save_steps": 50, "report_seconds": 0.1}
    children = started(workers, "slow", module=f"{PROGRAMS}own_part:WritesWhenTold", **told)
    children[0].wait_for(Progress, lambda progress: progress.step > 50)
    children[1].signal(signal.SIGKILL)
    children[0].wait_for(Failure)  # whoever hears that does not kill it
    (workers.run_dir("slow") / "write").touch()
    assert children[0].exit_code() == exit_codes.PEER_LOST, children[0].tail()
    assert workers.checkpoints("slow") == [children[0].of(Saved)[-1].step]


def test_moving_averages_are_those_of_all_workers(workers: Children) -> None:
    for steps in (7, 20):
        all_done(started(workers, "moving", module=f"{PROGRAMS}own_part:Normalized", steps=steps))
    means = saved(workers, "moving", 20)["normalization/moving_mean"]
    np.testing.assert_allclose(means, [1 - 0.9**20] * 4, rtol=1e-5)


def test_the_input_context_and_the_shard_say_which_worker_this_is(workers: Children) -> None:
    children = started(workers, "own-part", module=f"{PROGRAMS}own_part:SaysWhichPart", steps=7)
    all_done(children)
    for index, child in enumerate(children):
        assert f"part {index} of 2, pipeline {index} of 2, 2 replicas" in child.text()


def test_a_broken_program_is_not_tried_again(workers: Children) -> None:
    child = workers.start(
        "worker", 1, module=f"{PROGRAMS}broken:ScalarLoss", path=HERE, **ALL_REDUCE
    )
    assert child.exit_code() == exit_codes.CONFIG, child.tail()
    assert "loss must give one value for each example" in child.of(Failure)[-1].message


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with Children(tmp_path, workers=1, ps=0, has_chief=False) as world, socket.socket() as other:
        host, _, port = world.addresses["worker"][0].rpartition(":")
        other.bind((host, int(port)))
        other.listen()
        (child,) = started(world, "taken")
        assert child.exit_code() == exit_codes.CONFIG, child.tail()
        assert f"worker-0 can't listen on port {port}" in child.of(Failure)[-1].message
