"""The client never comes, or goes for good: who waits for it ends, one after the other."""

from __future__ import annotations

import signal

import pytest
from tf_cluster_trainer.supervisor.rules.silence import Silence

from tests.slices import sliced
from tests.support.processes import alive
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import STAND_IN, Supervisors
from .test_without_a_chief import ALL_REDUCE, ASYNC, every_way, goes, start

IN_GRAPH = ("parameter-server", "in-graph", "async")


def test_what_stays_in_a_file_is_no_sign_of_life() -> None:
    now = 100.0
    silence = Silence("a1")
    assert silence.looked_at(now).seconds(now) == 0  # nobody asked yet
    silence = silence.begun(now)
    for document, from_file, silent in (
        ({"attempt": "a1", "now": 1}, False, 0),
        ({"attempt": "a1", "now": 2}, True, 0),
        ({"attempt": "a1", "now": 2}, True, 5),
        ({"attempt": "a2", "now": 3}, False, 10),
        ({}, True, 15),
        ({"attempt": "a1", "status": "waiting"}, False, 0),
        ({"attempt": "a1", "status": "waiting"}, False, 0),
    ):
        for _ in range(5):
            now += 1
            silence = silence.looked_at(now)
        silence = silence.heard(document, now, from_file=from_file)
        assert silence.looked_at(now).seconds(now) == silent, document


def test_the_time_in_which_a_task_was_stopped_is_no_silence() -> None:
    silence = Silence("a1").begun(0.0).looked_at(1.0)
    assert silence.seconds(1.0) == 1
    silence = silence.looked_at(3601.0)
    assert silence.seconds(3601.0) < 4
    silence = silence.looked_at(3602.0)
    assert 2 <= silence.seconds(3602.0) < 5


def shows_for(task_seconds: float, world: Supervisors, index: int = 0) -> None:
    """Wait until the client's document, which runs, is so many seconds old."""
    client = next(task for task in world.tasks if task.name == f"worker-{index}")

    def lasts() -> bool:
        shown = client.progress()
        return bool(shown) and shown["now"] - shown["start"] >= task_seconds

    eventually("the client lives on", lasts)


@every_way
def test_a_worker_whose_worker_0_never_comes_gives_up_at_the_gates_deadline(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2, deadline=2.0)
    ps = [world.start("ps", index) for index in range(len(world.addresses.get("ps", ())))]
    worker = world.start("worker", 1)
    assert worker.ends() == 43
    assert "no word from worker-0 for 2 s (peers.deadlineSeconds)" in worker.said()
    assert "Look at: kubectl get pods" in worker.said()
    assert not alive(worker.child(1))
    assert all(task.process.poll() is None for task in ps)  # cleanup ends those


def test_a_worker_whose_chief_never_comes_gives_up_too(make_world: MakeWorld) -> None:
    worker = make_world(words=IN_GRAPH, deadline=2.0).start("worker")
    assert worker.ends() == 43
    assert "no word from chief-0 for 2 s (peers.deadlineSeconds)" in worker.said()


def test_a_script_whose_client_never_comes_gives_up_too(make_world: MakeWorld) -> None:
    program = {"script": str(STAND_IN), "args": []}
    world = make_world(words=ASYNC, workers=2, deadline=2.0, program=program)
    worker = world.start("worker", 1)
    assert worker.ends() == 43
    assert "no word from worker-0 for 2 s (peers.deadlineSeconds)" in worker.said()


def test_workers_give_up_one_after_the_other_and_not_all_at_once(make_world: MakeWorld) -> None:
    world = make_world(words=ALL_REDUCE, workers=3, deadline=3.0)
    one, two = (world.start("worker", index) for index in (1, 2))
    assert one.ends() == 43
    assert two.process.poll() is None
    assert two.ends() == 43
    assert "no word from worker-0 for 6 s (2 times peers.deadlineSeconds)" in two.said()


@every_way
def test_a_worker_0_that_lives_keeps_the_others_however_long_it_takes(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2, deadline=6.0)
    _, (other,), _ = start(world)
    goes(other)
    shows_for(15.0, world)
    assert other.process.poll() is None


def test_a_worker_that_was_stopped_for_longer_than_the_deadline_goes_on(
    make_world: MakeWorld,
) -> None:
    """As by Ctrl-Z, or in a container that was paused: the chief was there all the time."""
    world = make_world(words=ASYNC, workers=2, deadline=5.0)
    client, (other,), _ = start(world)
    goes(other)
    began = client.progress()["now"]
    other.process.send_signal(signal.SIGSTOP)
    eventually("longer than the deadline", lambda: client.progress()["now"] - began > 6)
    other.process.send_signal(signal.SIGCONT)
    client.do("finish")
    assert (client.ends(), other.ends()) == (0, 0), other.said()


@pytest.mark.parametrize("words", sliced([ASYNC, ALL_REDUCE], 1), ids="/".join)
def test_a_worker_0_that_goes_for_good_is_not_waited_for_for_ever(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    world = make_world(words=words, workers=2, deadline=6.0)
    client, (other,), _ = start(world)
    goes(other)
    client.kill()
    assert other.ends() == 43
    assert "no word from worker-0 for 6 s (peers.deadlineSeconds)" in other.said()


def test_a_new_pod_of_worker_0_within_the_deadline_costs_the_others_nothing(
    make_world: MakeWorld,
) -> None:
    world = make_world(words=ASYNC, workers=2, deadline=30.0)
    client, (other,), _ = start(world)
    goes(other)
    client.kill()
    eventually("it says whom it misses", lambda: "no word from worker-0" in other.said())
    again = world.start("worker")
    again.until(status="running")
    again.do("finish")
    assert (again.ends(), other.ends()) == (0, 0)
