"""Lost tasks: who notices, who goes on, and how soon."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Progress, Ready, Result, Serving

from tests.support.children import Child, Children
from tests.support.trainings import HERE, learning_rates
from tests.trainer.child.programs.awaiting import BUILDS, give_the_sign, take_it_back
from tests.trainer.strategies.turns import FAULTS, turn

pytestmark = turn(FAULTS, of="in-graph")

AWAITING = "tests.trainer.child.programs.awaiting:"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Children, dict[str, Child]]]:
    """Two workers and one ps, started once."""
    with Children(tmp_path_factory.mktemp("faults"), workers=2, ps=1) as world:
        servers = world.serve()
        # Who comes after a loss is late by an import, as its supervisor's child is: by then nobody
        # holds back a new connection because one to the lost task was refused.
        world.forks = False
        yield world, servers


@pytest.fixture
def servers(shared: tuple[Children, dict[str, Child]]) -> tuple[Children, dict[str, Child]]:
    """All of them alive and no chief at work, whatever became of the test before."""
    world, tasks = shared
    for child in world.children:
        if child not in tasks.values():
            child.end()
    for name, child in tasks.items():
        if child.process.poll() is not None:
            replace(world, tasks, name)
    take_it_back(world.directory)
    return world, tasks


def running(world: Children, run_id: str, *, beyond: int = 0, **settings: Any) -> Child:
    """A chief's child that makes steps."""
    told = {"steps": 1_000_000, "report_seconds": 0.1, **settings}
    chief = world.chief(run_id=run_id, **told)
    chief.wait_for(Ready)
    chief.go()
    chief.wait_for(Progress, lambda progress: progress.step > beyond)
    return chief


def without_workers(chief: Child, servers: dict[str, Child]) -> Progress:
    """Kill both; the chief's first report of which no step is part, and none will be."""
    for name in ("worker-0", "worker-1"):
        servers[name].signal(signal.SIGKILL)
        servers[name].exit_code()
    known = len(chief.of(Progress)) + 1  # one may be on its way

    def still() -> list[Progress]:
        return [report for report in chief.of(Progress)[known:] if report.steps_per_second == 0]

    chief.wait_for(Progress, lambda _: bool(still()))
    return still()[0]


def replace(world: Children, servers: dict[str, Child], name: str) -> None:
    kind, _, index = name.partition("-")
    servers[name].end()
    servers[name] = world.start(kind, int(index))
    servers[name].wait_for(Serving)


def test_a_killed_worker_is_absorbed_and_its_successor_makes_steps(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    chief = running(world, "worker")
    tasks["worker-1"].signal(signal.SIGKILL)
    tasks["worker-1"].exit_code()
    at = chief.of(Progress)[-1].step
    chief.wait_for(Progress, lambda progress: progress.step > at + 100)

    replace(world, tasks, "worker-1")
    before = chief.of(Progress)[-1].workers["1"]
    chief.wait_for(Progress, lambda progress: progress.workers["1"] > before)
    assert "worker-1 is lost" in chief.text()
    chief.end()


def test_calls_that_are_made_again_take_the_run_no_further_than_those_calls(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    """Beyond its total, on which the final checkpoint, progress and TensorBoard agree."""
    world, tasks = servers
    steps, per_call = 4000, 50
    chief = running(world, "again", steps=steps, per_call=per_call)
    for name in ("worker-1", "worker-0"):
        tasks[name].signal(signal.SIGKILL)
        chief.wait_until_it_says(f"{name} is lost; its call goes to another worker")
    for name in ("worker-1", "worker-0"):
        replace(world, tasks, name)
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    retried = chief.text().count("its call goes to another worker")
    (result,) = chief.of(Result)
    assert steps <= result.step < steps + per_call * (1 + retried)
    assert max(world.checkpoints("again")) == chief.of(Progress)[-1].step == result.step
    assert learning_rates(world, "again")[-1][0] == result.step


def test_with_all_workers_gone_nothing_moves_until_one_is_back(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    chief = running(world, "nobody")
    stands = without_workers(chief, tasks)
    reports = len(chief.of(Progress))
    chief.wait_for(Progress, lambda p: len(chief.of(Progress)) > reports + 5)
    assert chief.of(Progress)[-1].step == stands.step

    replace(world, tasks, "worker-0")
    chief.wait_for(Progress, lambda progress: progress.step > stands.step + 100)
    replace(world, tasks, "worker-1")
    chief.wait_for(Progress, lambda p: p.workers["1"] > stands.workers["1"])
    chief.end()


def test_a_worker_that_is_slow_to_answer_while_another_comes_back_keeps_its_place(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    """As on a machine where a new pod takes all there is for some seconds."""
    world, tasks = servers
    chief = running(world, "slow")
    tasks["worker-1"].signal(signal.SIGKILL)
    chief.wait_until_it_says("worker-1 is lost")
    tasks["worker-0"].signal(signal.SIGSTOP)
    replace(world, tasks, "worker-1")
    reports = len(chief.of(Progress))
    chief.wait_for(Progress, lambda p: len(chief.of(Progress)) > reports + 15)
    assert "worker-1 is back" not in chief.text()
    tasks["worker-0"].signal(signal.SIGCONT)
    chief.wait_until_it_says("worker-1 is back")
    before = chief.of(Progress)[-1].workers
    for index in ("0", "1"):
        chief.wait_for(Progress, lambda p, index=index: p.workers[index] > before[index] + 100)
    assert "worker-0 is lost" not in chief.text()
    chief.end()


def test_what_only_listens_is_not_taken_for_a_worker(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    """As a killed process does, for as long as its memory is being given back."""
    world, tasks = servers
    chief = running(world, "deaf")
    stands = without_workers(chief, tasks)
    host, _, port = world.addresses["worker"][1].rpartition(":")
    with socket.create_server((host, int(port))):
        replace(world, tasks, "worker-0")
        chief.wait_until_it_says("worker-0 is back")
        assert "worker-1 is back" not in chief.text()
    chief.wait_for(Progress, lambda progress: progress.step > stands.step + 100)
    replace(world, tasks, "worker-1")
    chief.wait_for(Progress, lambda p: p.workers["1"] > stands.workers["1"])
    chief.end()


def test_a_stop_with_all_workers_gone_still_saves(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    chief = running(world, "stop")
    stands = without_workers(chief, tasks)
    chief.signal(signal.SIGTERM)
    assert chief.exit_code() == exit_codes.STOPPED, chief.tail()
    assert world.checkpoints("stop") == [stands.step]
    for name in ("worker-0", "worker-1"):
        replace(world, tasks, name)


def test_a_killed_ps_ends_the_chief_quickly_and_the_next_goes_on(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    chief = running(world, "ps")
    chief.signal(signal.SIGTERM)
    assert chief.exit_code(deadline=20) == exit_codes.STOPPED, chief.tail()
    (saved,) = world.checkpoints("ps")

    chief = running(world, "ps", beyond=saved)
    tasks["ps-0"].signal(signal.SIGKILL)
    assert chief.exit_code() == exit_codes.PEER_LOST, chief.tail()
    assert "ps-0 is lost" in chief.of(Failure)[-1].message

    replace(world, tasks, "ps-0")
    chief = running(world, "ps", beyond=saved)
    assert chief.of(Progress)[0].step == saved
    chief.end()


def test_a_ps_that_is_replaced_while_the_model_is_built_is_lost_however_soon_it_serves(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    """What TensorFlow raises then, it raises in the program's hook."""
    world, tasks = servers
    chief = world.chief(run_id="built", module=f"{AWAITING}BuildsAtTheSign", path=HERE)
    chief.wait_for(Ready)
    chief.go()
    chief.wait_until_it_says(BUILDS)
    replace(world, tasks, "ps-0")
    give_the_sign(world.directory)
    assert chief.exit_code() == exit_codes.PEER_LOST, chief.tail()
    failure = chief.of(Failure)[-1]
    assert failure.message.startswith("ps-0 is lost, and with that the program failed in ")
    assert failure.lost == ["ps-0"]


def test_an_error_of_the_program_is_one_with_a_worker_away(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    """Nobody needs that worker: to begin anew would be to wait for it."""
    world, tasks = servers
    chief = running(world, "wrong", module=f"{AWAITING}FailsAtTheSign", path=HERE)
    tasks["worker-1"].signal(signal.SIGKILL)
    chief.wait_until_it_says("worker-1 is lost")
    give_the_sign(world.directory)
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    assert "a wrong row" in chief.of(Failure)[-1].message


def test_a_killed_chief_leaves_servers_that_the_next_can_use(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, _ = servers
    chief = running(world, "chief")
    chief.signal(signal.SIGKILL)
    chief.exit_code()
    running(world, "chief").end()


def test_an_attempt_that_lost_the_run_writes_nothing(
    servers: tuple[Children, dict[str, Child]], tmp_path: Path
) -> None:
    from tests.support.children import own

    world, _ = servers
    chief = running(world, "lost")
    own(world.run_dir("lost"), job_uid="job-2", pod_uid="pod-2")
    chief.signal(signal.SIGTERM)
    assert chief.exit_code(deadline=20) == exit_codes.NOT_OWNER, chief.tail()
    assert world.checkpoints("lost") == []
    assert not (world.run_dir("lost") / "export").exists()


def test_a_ps_that_goes_before_the_chief_connects_is_named(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    tasks["ps-0"].end()
    chief = world.chief(run_id="gone", steps=1_000_000)
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code(deadline=30) == exit_codes.PEER_LOST, chief.tail()
    assert "ps-0 is lost" in chief.of(Failure)[-1].message
    replace(world, tasks, "ps-0")


def test_a_sigterm_ends_a_chief_that_connects_to_a_frozen_ps(
    servers: tuple[Children, dict[str, Child]],
) -> None:
    world, tasks = servers
    tasks["ps-0"].signal(signal.SIGSTOP)
    chief = world.chief(run_id="frozen", steps=1_000_000)
    chief.wait_for(Ready)
    chief.go()
    chief.wait_until_it_says("connecting to 2 workers and 1 ps")
    chief.signal(signal.SIGTERM)
    assert chief.exit_code() in (-signal.SIGTERM, exit_codes.STOPPED)
    tasks["ps-0"].signal(signal.SIGCONT)
