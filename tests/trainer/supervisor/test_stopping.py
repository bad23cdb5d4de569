"""SIGTERM, SIGINT, and supervisors that are killed."""

from __future__ import annotations

import json
import signal

import pytest

from tests.support.processes import alive
from tests.support.waiting import eventually

from .conftest import MakeWorld


def test_sigterm_while_training_saves_and_exits_42(make_world: MakeWorld) -> None:
    world = make_world()
    chief, worker, ps = world.start_all()
    eventually("a first step", lambda: chief.progress().get("step"))
    for task in (chief, worker, ps):
        task.stop()
    assert [task.ends() for task in (chief, worker, ps)] == [42, 42, 42]

    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"], document["exitCode"]) == ("stopped", False, 42)
    assert document["checkpointStep"] == document["step"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_gate_waits_exits_42(make_world: MakeWorld, number: int) -> None:
    chief = make_world().start("chief")
    chief.until(status="waiting")
    child = chief.child(1)
    chief.process.send_signal(number)
    assert chief.ends() == 42
    assert not alive(child)


def test_a_second_sigterm_does_no_more_than_the_first(make_world: MakeWorld) -> None:
    chief, _, _ = make_world().start_all()
    chief.until(status="running")
    chief.stop()
    chief.stop()
    assert chief.ends() == 42
    assert "asked to stop" in chief.said()


def test_training_that_finishes_when_stopped_is_done(make_world: MakeWorld) -> None:
    chief, worker, _ = make_world().start_all()
    chief.until(status="running")
    chief.do("deaf")
    eventually("the child reads its order", lambda: not (chief.directory / "chief-0.do").exists())
    chief.stop()
    chief.do("finish")
    assert chief.ends() == 0
    assert worker.ends() == 0


def test_a_killed_supervisor_leaves_no_child(make_world: MakeWorld) -> None:
    world = make_world()
    chief, worker, ps = world.start_all()
    chief.until(status="running")
    children = [task.child(1) for task in (chief, worker, ps)]
    for task in (chief, worker, ps):
        task.kill()
    eventually("the children end", lambda: not any(map(alive, children)))


def test_a_child_that_ignores_sigterm_is_killed_when_the_attempt_is_over(
    make_world: MakeWorld,
) -> None:
    chief, worker, _ = make_world().start_all()
    chief.until(status="running")
    worker.do("deaf")
    eventually("the child is deaf", lambda: not (worker.directory / "worker-0.do").exists())
    chief.do("finish")
    assert worker.ends() == 0
    assert not alive(worker.child(1))


def test_a_save_that_does_not_end_is_killed_in_the_end(make_world: MakeWorld) -> None:
    world = make_world()
    chief = world.start("chief", SAVE_SECONDS="0.5")
    world.start("worker")
    world.start("ps")
    chief.until(status="running")
    chief.do("deaf")
    eventually("the child is deaf", lambda: not (chief.directory / "chief-0.do").exists())
    chief.stop()
    assert chief.ends() == 42
    assert "was asked to end and did not" in chief.said()
    assert not alive(chief.child(1))
