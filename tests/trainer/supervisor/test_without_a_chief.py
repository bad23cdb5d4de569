"""Worlds without a chief: worker 0 drives the run, the other workers train beside it."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.slices import sliced
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors, Task

ASYNC = ("parameter-server", "between-graph", "async")
SYNC = ("parameter-server", "between-graph", "sync")
ALL_REDUCE = ("all-reduce", "between-graph", "sync")
every_way = pytest.mark.parametrize("words", sliced([ASYNC, SYNC, ALL_REDUCE], 1), ids="/".join)


def start(world: Supervisors) -> tuple[Task, list[Task], list[Task]]:
    """Worker 0, the other workers, every ps."""
    others = [world.start("worker", index) for index in range(1, world.workers)]
    ps = [world.start("ps", index) for index in range(len(world.addresses.get("ps", ())))]
    return world.start("worker"), others, ps


def kill_child(task: Task, number: int = 1) -> None:
    os.kill(task.child(number), signal.SIGKILL)


def goes(task: Task, number: int = 1) -> None:
    """Wait until its n-th Go."""
    note = task.directory / f"{task.name}.{number}.gone"
    eventually(f"{task.name} is let go {number}; log:\n{task.said()}", note.exists)


@every_way
def test_a_run_ends_with_exit_code_0_in_every_worker(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=3, steps=20)
    chief, others, ps = start(world)
    assert [task.ends() for task in (chief, *others)] == [0, 0, 0]
    assert all(task.process.poll() is None for task in ps)
    for task in others:
        assert (task.starts(), "the attempt is over: done" in task.said()) == (1, True)

    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"], document["step"]) == ("done", True, 20)
    assert document["jobUids"] == {"chief": None, "worker": "wj", "evaluator": None}
    assert json.loads((world.run_dir / "owner.json").read_text())["jobUid"] == "wj"


@every_way
def test_the_others_hear_of_the_begin_and_the_end_before_they_look_again(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2, steps=20)
    chief = world.start("worker")
    chief.until(status="waiting")
    other = world.start("worker", 1, POLL_SECONDS="600")
    for index in range(len(world.addresses.get("ps", ()))):
        world.start("ps", index)
    goes(other)
    assert (chief.ends(), other.ends()) == (0, 0)
    assert "not every task has fetched the final state" not in chief.said()


@every_way
def test_the_gate_waits_for_every_other_worker(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=3)
    world.write()
    hold = world.children / "worker-2.hold"
    hold.touch()
    chief, others, ps = start(world)
    eventually(
        "the rest serves", lambda: all(task.health().get("serving") for task in (others[0], *ps))
    )
    eventually("it waits", lambda: "waiting for 1 of " in chief.progress().get("message", ""))
    assert "worker-2" in chief.progress()["message"]
    assert not list(world.children.glob("*.gone"))
    hold.unlink()
    for task in (chief, *others):
        goes(task)


@every_way
def test_a_worker_that_worker_0_keeps_waiting_says_so(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2)
    other = world.start("worker", 1)
    eventually("it says so", lambda: "ready; waiting for worker-0 to begin" in other.said())
    world.start("worker")
    for index in range(len(world.addresses.get("ps", ()))):
        world.start("ps", index)
    goes(other)


def test_worker_0_alone_needs_nobody(make_world: MakeWorld) -> None:
    assert make_world(words=ALL_REDUCE, steps=20).start("worker").ends() == 0


@pytest.mark.parametrize(("words", "each"), [(ASYNC, 1), (SYNC, 3), (ALL_REDUCE, 3)])
def test_a_step_is_a_batch_of_every_worker_when_sync(
    make_world: MakeWorld, words: tuple[str, str, str], each: int
) -> None:
    chief, _, _ = start(make_world(words=words, workers=3))
    document = eventually("a pace", lambda: _with_pace(chief))
    assert document["examplesPerSecond"] == document["stepsPerSecond"] * 64 * each


def _with_pace(task: Task) -> dict[str, float] | None:
    document = task.progress()
    return document if document.get("stepsPerSecond") else None


@pytest.mark.parametrize("words", [ASYNC, SYNC], ids="/".join)
def test_between_graph_a_lost_worker_comes_back_and_restarts_nobody(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=3)
    chief, (one, two), (ps,) = start(world)
    goes(one)
    kill_child(one)
    goes(one, 2)
    two.kill()
    two = world.start("worker", 2)
    goes(two, 2)
    assert (chief.starts(), one.starts(), ps.starts()) == (1, 2, 1)
    chief.do("finish")
    assert [task.ends() for task in (chief, one, two)] == [0, 0, 0]


def test_between_graph_a_lost_ps_serves_the_running_chief_again_and_restarts_nobody(
    make_world: MakeWorld,
) -> None:
    world = make_world(words=ASYNC, workers=2)
    one = world.start("worker", 1)
    ps = world.start("ps")
    chief = world.start("worker", GUARD_SECONDS="0.05")
    epoch = chief.until(status="running")["epoch"]
    goes(one)
    kill_child(ps)
    eventually("back", lambda: ps.health().get("restarts") == 1 and ps.health()["epoch"] == epoch)
    ps.kill()
    ps = world.start("ps")
    eventually("back", lambda: ps.health().get("serving") and ps.health()["epoch"] == epoch)
    chief.do("finish")
    assert (chief.ends(), one.ends()) == (0, 0)
    assert (chief.starts(), one.starts()) == (1, 1)


def test_between_graph_a_lost_worker_0_restarts_itself_and_the_ps(make_world: MakeWorld) -> None:
    chief, (one,), (ps,) = start(make_world(words=ASYNC, workers=2))
    before = chief.until(status="running")["epoch"]
    goes(one)
    kill_child(chief)
    after = chief.until(status="running", restarts=1)["epoch"]
    assert after != before
    assert ps.health()["epoch"] == after
    assert (chief.starts(), ps.starts(), one.starts()) == (2, 2, 1)


def test_all_reduce_a_lost_worker_restarts_every_child(make_world: MakeWorld) -> None:
    chief, (one, two), _ = start(make_world(words=ALL_REDUCE, workers=3))
    first = chief.until(status="running")["epoch"]
    goes(one)
    goes(two)
    kill_child(one)
    eventually("one is back", lambda: one.health().get("restarts") == 1 and one.health()["serving"])
    # The collective of the others is broken: a fresh child is no part of it.
    assert one.health()["epoch"] is None
    assert not (one.directory / "worker-1.2.gone").exists()
    chief.do("exit 44 worker-1 is gone")
    second = chief.until(status="running", restarts=1)["epoch"]
    assert second != first
    goes(one, 2)
    goes(two, 2)
    assert (one.health()["epoch"], two.health()["epoch"]) == (second, second)
    assert (chief.starts(), one.starts(), two.starts()) == (2, 2, 2)
    chief.do("finish")
    assert [task.ends() for task in (chief, one, two)] == [0, 0, 0]


def test_all_reduce_a_lost_worker_0_restarts_every_child(make_world: MakeWorld) -> None:
    world = make_world(words=ALL_REDUCE, workers=2)
    chief, (one,), _ = start(world)
    goes(one)
    kill_child(chief)
    goes(one, 2)
    chief.until(status="running", restarts=1)
    chief.kill()
    chief = world.start("worker")
    epoch = chief.until(status="running")["epoch"]
    goes(one, 3)
    assert one.health()["epoch"] == epoch
    assert (chief.starts(), one.starts()) == (3, 3)


@pytest.mark.parametrize("what", ["children", "pods"])
@every_way
def test_all_tasks_lost_at_once_find_each_other_again_and_the_run_goes_on(
    make_world: MakeWorld, words: tuple[str, str, str], what: str
) -> None:
    world = make_world(words=words, workers=2)
    chief, (other,), ps = start(world)
    first = chief.until(status="running")["epoch"]
    goes(chief)
    goes(other)
    for task in (chief, other, *ps):
        if what == "children":
            kill_child(task)
        else:
            task.kill()
    if what == "pods":
        chief, (other,), ps = start(world)
    goes(chief, 2)
    goes(other, 2)
    epoch = chief.until(status="running")["epoch"]
    assert epoch != first
    bound = [other] if words == ALL_REDUCE else ps
    assert [task.health()["epoch"] for task in bound] == [epoch]
    chief.do("finish")
    assert (chief.ends(), other.ends()) == (0, 0)


def test_all_reduce_a_child_that_has_not_begun_takes_the_next_epoch(make_world: MakeWorld) -> None:
    world = make_world(words=ALL_REDUCE, workers=3)
    chief, one = world.start("worker"), world.start("worker", 1)
    eventually("it is ready", lambda: one.health().get("serving") and one.health()["epoch"])
    kill_child(chief)
    chief.child(2)
    world.start("worker", 2)
    epoch = chief.until(status="running", restarts=1)["epoch"]
    goes(one)
    assert (one.health()["epoch"], one.starts()) == (epoch, 1)


@pytest.mark.parametrize("words", [ASYNC, ALL_REDUCE], ids="/".join)
def test_a_worker_that_is_through_waits_for_the_final_state(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    chief, (one,), _ = start(make_world(words=words, workers=2))
    goes(one)
    one.do("finish")
    one.until(message="done here; waiting for worker-0 to finish")
    step = chief.progress()["step"]
    eventually("worker 0 goes on", lambda: chief.progress()["step"] > step + 5)
    assert (one.starts(), one.process.poll()) == (1, None)
    chief.do("finish")
    assert (chief.ends(), one.ends()) == (0, 0)


@pytest.mark.parametrize("words", [ASYNC, ALL_REDUCE], ids="/".join)
def test_a_worker_that_was_through_makes_the_steps_that_were_lost(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    chief, (one,), _ = start(make_world(words=words, workers=2))
    goes(one)
    one.do("finish")
    one.until(message="done here; waiting for worker-0 to finish")
    kill_child(chief)
    goes(one, 2)
    chief.do("finish")
    assert (chief.ends(), one.ends(), one.starts()) == (0, 0, 2)


def test_all_reduce_one_worker_that_is_asked_to_end_stops_all_and_all_come_again(
    make_world: MakeWorld,
) -> None:
    world = make_world(words=ALL_REDUCE, workers=3)
    chief, (one, two), _ = start(world)
    goes(one)
    goes(two)
    two.stop()
    assert two.ends() == 42
    one.do("exit 42")
    one.until(message="stopped with another worker; waiting for worker-0 to start again")
    assert one.starts() == 1
    chief.do("exit 42")
    world.start("worker", 2)
    goes(one, 2)
    chief.until(status="running", restarts=1)


@every_way
def test_sigterm_everywhere_saves_and_exits_42(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2)
    chief, others, ps = start(world)
    goes(others[0])
    eventually("a first step", lambda: chief.progress().get("step"))
    tasks = [chief, *others, *ps]
    for task in tasks:
        task.stop()
    assert [task.ends() for task in tasks] == [42 for _ in tasks]
    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["checkpointStep"]) == ("stopped", document["step"])


@pytest.mark.parametrize("state", ["before it is let go", "when it is through"])
def test_sigterm_of_a_worker_that_does_nothing_is_exit_42(
    make_world: MakeWorld, state: str
) -> None:
    world = make_world(words=ALL_REDUCE, workers=2)
    one = world.start("worker", 1)
    eventually("it is ready", lambda: one.health().get("serving"))
    if state == "when it is through":
        world.start("worker")
        goes(one)
        one.do("finish")
        one.until(message="done here; waiting for worker-0 to finish")
    one.stop()
    assert one.ends() == 42


@pytest.mark.parametrize("index", [0, 1])
def test_a_bad_program_is_exit_2_without_waiting_for_peers(
    make_world: MakeWorld, index: int
) -> None:
    world = make_world(words=ASYNC, workers=2, final_seconds=0.1)
    task = world.start("worker", index)
    task.child(1)
    task.do("exit 2 No module named 'program'")
    assert task.ends() == 2
    assert "No module named 'program'" in task.said()


def test_a_program_error_of_worker_0_ends_the_others_at_once(make_world: MakeWorld) -> None:
    chief, (one,), _ = start(make_world(words=ASYNC, workers=2))
    goes(one)
    chief.do("exit 2 loss() returns text")
    assert (chief.ends(), one.ends()) == (2, 0)


def test_a_program_error_of_another_worker_is_the_runs_and_names_it(make_world: MakeWorld) -> None:
    world = make_world(words=ASYNC, workers=3)
    chief, (one, two), _ = start(world)
    goes(one)
    one.do("exit 2 dataset() found no part-1")
    assert (one.ends(), chief.ends(), two.ends()) == (2, 2, 0)
    told = json.loads((world.run_dir / "progress.json").read_text())
    assert (told["status"], told["final"], told["exitCode"]) == ("failed", True, 2)
    assert told["message"] == "worker-1 failed: dataset() found no part-1"


@pytest.mark.parametrize(("child", "supervisor"), [("43 peers lost", 43), ("1 oh", 1)])
def test_a_worker_that_can_not_be_kept_training_says_whose_fault_it_is(
    make_world: MakeWorld, child: str, supervisor: int
) -> None:
    world = make_world(words=ASYNC, workers=2, restarts=1)
    _, (one,), _ = start(world)
    for number in (1, 2):
        goes(one, number)
        one.do(f"exit {child}")
    assert one.ends() == supervisor
    assert "given up after 1 restarts in a row" in one.said()


def test_a_checkpoint_gives_a_worker_all_its_restarts_back(make_world: MakeWorld) -> None:
    chief, (one,), _ = start(make_world(words=ASYNC, workers=2, restarts=1))
    for number in range(1, 4):
        goes(one, number)
        chief.do(f"save {100 * number}")
        one.until(checkpointStep=100 * number)
        one.do("exit 43 ps-0 is gone")
    goes(one, 4)


def test_a_late_worker_reads_the_final_state_from_the_run_directory(make_world: MakeWorld) -> None:
    world = make_world(words=ALL_REDUCE, workers=2, steps=20, final_seconds=0.1)
    chief, (one,), _ = start(world)
    goes(one)
    one.kill()
    assert chief.ends() == 0
    one = world.start("worker", 1)
    assert (one.ends(), one.starts()) == (0, 1)


@pytest.mark.parametrize("told", [True, False], ids=["progress.json", "no-progress.json"])
def test_a_late_worker_ends_when_there_was_nothing_to_train(
    make_world: MakeWorld, told: bool
) -> None:
    settings = {"words": ALL_REDUCE, "workers": 2, "steps": 20, "final_seconds": 0.1}
    chief, (one,), _ = start(make_world(**settings))
    assert (chief.ends(), one.ends()) == (0, 0)
    later = make_world(**settings, attempt="a2", jobs={"chief": "", "worker": "wj2", "ps": ""})
    if not told:
        (later.run_dir / "progress.json").unlink()
    chief = later.start("worker")
    assert chief.ends() == 0
    assert "nothing to train" in chief.said()
    assert later.start("worker", 1).ends() == 0


def test_a_later_attempt_with_a_chief_takes_over(make_world: MakeWorld) -> None:
    old = make_world(words=ASYNC, workers=2, attempt="a1")
    new = make_world(attempt="a2", jobs={"chief": "cj2", "worker": "wj2", "ps": ""})
    chief, (one,), _ = start(old)
    goes(one)
    new.start_all()[0].until(status="running")
    assert (chief.ends(), one.ends()) == (0, 0)
    assert "attempt a2 takes over" in chief.said()
