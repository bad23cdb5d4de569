"""How often a task asks the chief: as often as it is waited for, and never more than he bears."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tf_cluster_trainer.config import load
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.chief_poll import ChiefPoll, periods
from tf_cluster_trainer.supervisor.timing import Timing

from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors

TIMING = Timing(worker_poll=0.02, quick_poll=0.02, calm_poll=600.0)
MANY = 200


class Chief(HTTPServer):
    """Says the same to all, and counts them."""

    asked = 0
    document = b"{}"


class _Answer(BaseHTTPRequestHandler):
    server: Chief

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.document)

    def log_message(self, format: str, *args: object) -> None:
        pass


def environment_of(world: Supervisors, kind: str) -> dict[str, str]:
    return {
        "TF_CLUSTER_CONFIG": str(world.write()),
        "TF_CLUSTER_TASK_TYPE": kind,
        "TF_CLUSTER_TASK_INDEX": "1" if kind == "worker" else "0",
        "TF_CLUSTER_JOB_UID": "job",
        "TF_CLUSTER_POD_UID": "pod",
        "TF_CLUSTER_STATUS": world.evaluator,
    }


@contextmanager
def asking(
    world: Supervisors, kind: str, status: str, attempt: str = "a1"
) -> Iterator[tuple[Chief, ChiefPoll]]:
    """A task that asks a chief who says that."""
    environment = environment_of(world, kind)
    client = "chief" if "chief" in world.addresses else "worker"
    host, port = world.addresses[client][0].split(":")
    chief = Chief((host, int(port)), _Answer)
    chief.document = json.dumps({"status": status, "attempt": attempt}).encode()
    threading.Thread(target=chief.serve_forever, args=(0.02,), daemon=True).start()
    poll = ChiefPoll(load(environment), Inbox(), TIMING)
    try:
        poll.begin()
        eventually("the first question", lambda: chief.asked)
        yield chief, poll
    finally:
        poll.stop()
        chief.shutdown()
        chief.server_close()


def often(chief: Chief) -> Callable[[], bool]:
    asked = chief.asked
    return lambda: chief.asked > asked + 3


def test_a_server_leaves_a_chief_that_trains_in_peace_until_there_is_news(
    make_world: MakeWorld,
) -> None:
    with asking(make_world(workers=2), "worker", "running") as (chief, poll):
        time.sleep(0.5)  # for questions that must not come
        assert chief.asked == 1
        poll.now()
        eventually("a question after the news", lambda: chief.asked == 2)


@pytest.mark.parametrize(("status", "attempt"), [("waiting", "a1"), ("running", "a0")])
def test_a_server_asks_again_at_once_while_its_attempt_does_not_train(
    make_world: MakeWorld, status: str, attempt: str
) -> None:
    with asking(make_world(workers=2), "worker", status, attempt) as (chief, _):
        eventually("more questions", often(chief))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ps", ("parameter-server", "in-graph", "async")),
        ("worker", ("parameter-server", "between-graph", "async")),
        ("worker", ("all-reduce", "between-graph", "sync")),
        ("evaluator", ("parameter-server", "in-graph", "async")),
    ],
)
def test_who_begins_anew_or_ends_with_the_chief_untold_asks_often(
    make_world: MakeWorld, kind: str, words: tuple[str, str, str]
) -> None:
    with asking(make_world(workers=2, words=words), kind, "running") as (chief, _):
        eventually("more questions", often(chief))


def test_the_more_tasks_there_are_the_less_often_each_asks(make_world: MakeWorld) -> None:
    with asking(make_world(workers=MANY), "ps", "waiting") as (chief, _):
        time.sleep(0.5)  # a twenty-fifth of the questions that one task alone would ask
        assert chief.asked == 1


@pytest.mark.parametrize("kind", ["worker", "ps"])
def test_a_thousand_tasks_of_a_chief_that_trains_ask_it_40_times_a_second(
    kind: str, make_world: MakeWorld
) -> None:
    config = load(environment_of(make_world(final_seconds=30.0, workers=998), kind))

    period, calm = periods(config, Timing())

    assert (period, 1000 / calm) == (5.0, 40.0)
    # A task that missed the end asks before the chief that has ended goes.
    assert calm < config.settings.final_state_seconds


def test_a_thousand_tasks_have_an_evaluator_that_asks_as_often_as_ever(
    make_world: MakeWorld,
) -> None:
    config = load(environment_of(make_world(workers=998), "evaluator"))

    assert periods(config, Timing()) == (5.0, 5.0)
