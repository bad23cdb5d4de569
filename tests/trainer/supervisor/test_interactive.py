"""An interactive cluster: no chief, ps and workers serve a client that comes and goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NoReturn

import pytest
from tf_cluster_trainer import interactive, protocol
from tf_cluster_trainer.config import COMBINATIONS, read_cluster
from tf_cluster_trainer.supervisor.peers.ask import ask
from tf_cluster_trainer.supervisor.rules import follower
from tf_cluster_trainer.supervisor.rules.actions import End, Kill
from tf_cluster_trainer.supervisor.rules.events import ChiefSeen, ChildSaid, Tick
from tf_cluster_trainer.supervisor.rules.follower_client import GONE_SECONDS
from tf_cluster_trainer.supervisor.rules.follower_turn import Follower, State, first_state
from tf_cluster_trainer.supervisor.timing import Timing

from tests.support.waiting import eventually
from tests.trainer.simulation.attempt import Attempt

from .conftest import MakeWorld
from .supervisors import Supervisors, Task

COUNTS = {"worker": 2, "ps": 1}


def serving(make_world: MakeWorld, idle: float) -> tuple[Supervisors, Task, list[Task]]:
    """A world that has one ps and two workers, once they serve."""
    world = make_world(program={"interactive": {"idleSeconds": idle}}, counts=COUNTS)
    ps, workers = world.start("ps"), [world.start("worker", index) for index in range(2)]
    for task in (ps, *workers):
        task.until(status="running", total=None)
    return world, ps, workers


def asks(task: Task, client: str) -> str | None:
    """A client asks a task; returns whom the task serves."""
    epoch = ask(task.address, f"/healthz?attempt=a1&epoch={client}")["epoch"]
    return None if epoch is None else str(epoch)


def test_without_a_client_the_workers_end_well_and_the_ps_stays(make_world: MakeWorld) -> None:
    _, ps, workers = serving(make_world, idle=3)
    assert [worker.ends() for worker in workers] == [0, 0]
    assert all("no client for 3 s (interactive.idleSeconds)" in one.said() for one in workers)
    assert ps.process.poll() is None


def test_a_client_that_asks_keeps_them_and_one_that_is_gone_does_not(
    make_world: MakeWorld,
) -> None:
    _, ps, workers = serving(make_world, idle=15)
    until = time.monotonic() + 18
    while time.monotonic() < until:
        for task in (ps, *workers):
            asks(task, "one")
        time.sleep(0.2)
    assert [task.process.poll() for task in (ps, *workers)] == [None, None, None]
    gone = time.monotonic()
    assert [worker.ends() for worker in workers] == [0, 0]
    assert time.monotonic() - gone > 10


def test_the_client_waits_for_all_and_says_what_is_lost_and_back(make_world: MakeWorld) -> None:
    world, ps, workers = serving(make_world, idle=60)
    said: list[str] = []
    client = interactive.Client(read_cluster(world.write()), said.append)
    client.begin(time.monotonic() + 30)
    served = ps.health()["epoch"]
    assert served and ps.starts() == 1
    os.kill(workers[1].child(1), signal.SIGKILL)
    eventually(f"worker-1 is back: {said}", lambda: "worker-1 is back" in said)
    os.kill(ps.child(1), signal.SIGKILL)
    lost = "ps-0 is another server now: restart the kernel, and run from the top"
    eventually(f"ps-0 is another: {said}", lambda: lost in said)
    assert ps.health()["epoch"] == served


def test_a_client_waits_for_one_that_is_there(make_world: MakeWorld) -> None:
    world, ps, _ = serving(make_world, idle=60)
    eventually("the first is served", lambda: asks(ps, "first") == "first" or None)
    said: list[str] = []
    second = interactive.Client(read_cluster(world.write()), said.append)
    there = threading.Event()

    def first() -> None:
        while not there.wait(0.2):
            asks(ps, "first")

    thread = threading.Thread(target=first)
    thread.start()
    try:
        with pytest.raises(TimeoutError, match="ps-0 does not serve: it serves another client"):
            second.begin(time.monotonic() + 3)
    finally:
        there.set()
        thread.join()
    assert (ps.health()["epoch"], ps.starts()) == ("first", 1)


ENDS_AS_IT_ASKS = """
import atexit, pathlib, sys, time
from tf_cluster_trainer import interactive
from tf_cluster_trainer.config import read_cluster
interactive.PERIOD_SECONDS = 0
atexit.register(time.sleep, 0.5)  # a kernel has more to do at its end
interactive.Client(read_cluster(pathlib.Path(sys.argv[1])), print).begin(time.monotonic() + 60)
"""


def test_an_interpreter_that_ends_while_its_client_asks_says_nothing(
    make_world: MakeWorld,
) -> None:
    world, _, _ = serving(make_world, idle=60)
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_AS_IT_ASKS, str(world.write())],
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
        check=True,
    )
    assert ended.stderr == ""


def test_a_client_that_can_not_ask_for_another_reason_does_not_hide_it(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoMoreThreads(ThreadPoolExecutor):
        def submit(self, *_: object, **__: object) -> NoReturn:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(interactive, "ThreadPoolExecutor", NoMoreThreads)
    monkeypatch.setattr(interactive, "PERIOD_SECONDS", 0)
    client = interactive.Client(read_cluster(make_world(counts=COUNTS).write()), print)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        client._go_on()


def rules(task: str) -> tuple[Follower, State]:
    """One task of an interactive cluster, whose child serves since second 0."""
    attempt = Attempt("a1", COMBINATIONS[0], 1, 1, 100, 5, 40.0, evaluator=False, backoff=6)
    config = attempt.config(task, 0, "job", "pod")
    config = replace(config, settings=replace(config.settings, idle_seconds=600.0))
    one = Follower(config, Timing())
    state, _ = follower.decide(one, first_state(one), ChiefSeen(None), 0.0)
    state, _ = follower.decide(one, state, ChildSaid(1, protocol.Serving()), 0.0)
    return one, state


def test_the_next_client_is_served_when_the_one_before_is_silent() -> None:
    one, state = rules("ps")
    asked = follower.asked_by_the_chief
    attempt = one.config.cluster.attempt
    state, _ = follower.decide(one, state, asked(attempt, "first"), 1.0)
    for now in (2.0, GONE_SECONDS):
        state, actions = follower.decide(one, state, asked(attempt, "second"), now)
        assert Kill() not in actions
    state, _ = follower.decide(one, state, asked(attempt, "first"), GONE_SECONDS)
    for now in (GONE_SECONDS + 2, 2 * GONE_SECONDS - 1):
        state, actions = follower.decide(one, state, asked(attempt, "second"), now)
        assert Kill() not in actions
    for now in range(20, 31):
        state, _ = follower.decide(one, state, Tick(), float(now))
    state, actions = follower.decide(one, state, asked(attempt, "second"), 31.0)
    assert Kill() in actions


def test_every_worker_waits_as_long_for_a_client_and_a_ps_for_ever() -> None:
    for task, ends in (("worker", True), ("ps", False)):
        one, state = rules(task)
        said = []
        for now in range(1, 602):
            state, actions = follower.decide(one, state, Tick(), float(now))
            said += actions
        ended = [action for action in said if isinstance(action, End)]
        assert bool(ended or state.ending) is ends
