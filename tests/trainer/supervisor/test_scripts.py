"""A script in place of a program class: started as it is, and its exit code is the task's."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.slices import sliced
from tests.support.processes import alive
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors, Task

STAND_IN = Path(__file__).with_name("stand_in_script.py")
BETWEEN_GRAPH = ("parameter-server", "between-graph", "async")
ALL_REDUCE = ("all-reduce", "between-graph", "sync")

MakeScriptWorld = Callable[..., Supervisors]


@pytest.fixture
def make_scripts(make_world: MakeWorld, tmp_path: Path) -> MakeScriptWorld:
    """Worlds whose program is the stand-in script."""

    def make(*args: str, ps: str = "server", attempt: str = "a1", **settings: Any) -> Supervisors:
        place = str(tmp_path / f"children-{attempt}")
        program = {"script": str(STAND_IN), "args": [place, *args], "ps": ps}
        return make_world(program=program, attempt=attempt, **settings)

    return make


def obeyed(task: Task) -> None:
    eventually("it reads its order", lambda: not (task.directory / f"{task.name}.do").exists())


def told(task: Task) -> dict[str, Any]:
    document = json.loads((task.directory / f"{task.name}.told").read_text())
    assert isinstance(document, dict)
    return document


def test_the_end_of_the_chiefs_script_ends_workers_that_serve_for_ever(
    make_scripts: MakeScriptWorld,
) -> None:
    world = make_scripts()
    chief, worker, ps = world.start_all()
    server = worker.child(1)
    chief.child(1)
    chief.do("exit 0")
    assert chief.ends() == 0
    assert worker.ends() == 0
    assert not alive(server)
    assert ps.process.poll() is None

    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"], document["exitCode"]) == ("done", True, 0)
    assert (document["step"], document["total"], document["percent"]) == (None, None, None)
    assert document["now"] >= document["start"] > 0


def test_a_worker_that_ignores_sigterm_is_killed_when_the_script_is_done(
    make_scripts: MakeScriptWorld,
) -> None:
    chief, worker, _ = make_scripts().start_all()
    server = worker.child(1)
    worker.do("deaf")
    obeyed(worker)
    chief.child(1)
    chief.do("exit 0")
    assert chief.ends() == 0
    assert worker.ends() == 0
    assert not alive(server)


@pytest.mark.parametrize(
    ("own", "task"),
    sliced([*map(pytest.param, (1, 2, 3, 42, 43, 44), (1, 2, 3, 1, 1, 44))], 2),
)
def test_the_exit_code_of_the_clients_script_is_the_tasks(
    make_scripts: MakeScriptWorld, own: int, task: int
) -> None:
    world = make_scripts(words=BETWEEN_GRAPH)
    client = world.start("worker")
    world.start("ps")
    client.child(1)
    client.do(f"exit {own}")
    assert client.ends() == task
    assert client.starts() == 1
    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"]) == ("failed", task == 2)
    assert f"the script ended with exit code {own}" in document["message"]


@pytest.mark.parametrize(
    ("own", "task"), sliced([*map(pytest.param, (1, 5, 42, 43), (1, 5, 1, 1))], 1)
)
def test_the_exit_code_of_another_workers_script_is_its_tasks(
    make_scripts: MakeScriptWorld, own: int, task: int
) -> None:
    world = make_scripts(words=BETWEEN_GRAPH, workers=2)
    client, other, _ = world.start("worker"), world.start("worker", 1), world.start("ps")
    other.child(1)
    other.do(f"exit {own}")
    assert other.ends() == task
    assert client.process.poll() is None


def test_a_worker_that_is_through_waits_for_the_clients_end(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(words=BETWEEN_GRAPH, workers=2)
    client, other, _ = world.start("worker"), world.start("worker", 1), world.start("ps")
    other.child(1)
    other.do("exit 0")
    other.until(
        status="waiting", message="the script is done here; waiting for the end of the attempt"
    )
    client.do("exit 0")
    assert client.ends() == 0
    assert other.ends() == 0
    assert other.starts() == 1


def test_no_script_starts_before_every_task_is_there(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts()
    chief, worker = world.start("chief"), world.start("worker")
    chief.until(status="waiting")
    worker.until(status="waiting")
    eventually("the chief waits for the ps", lambda: "ps-0" in chief.progress().get("message", ""))
    assert (chief.starts(), worker.starts()) == (0, 0)
    world.start("ps")
    chief.child(1)
    worker.child(1)


def test_a_script_that_is_killed_is_started_again(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts()
    chief, worker, ps = world.start_all()
    chief.child(1)
    os.kill(worker.child(1), signal.SIGKILL)
    worker.child(2)
    assert chief.starts() == 1

    os.kill(chief.child(1), signal.SIGKILL)
    chief.child(2)
    document = chief.until(status="running", restarts=1)
    assert document["epoch"].endswith("/2")
    # What a killed client leaves on the ps is never given back, so they start afresh.
    assert ps.starts() == 2
    assert worker.starts() == 2
    chief.do("exit 0")
    assert chief.ends() == 0


def test_a_between_graph_script_that_is_killed_finds_its_variables_where_they_were(
    make_scripts: MakeScriptWorld,
) -> None:
    world = make_scripts(words=BETWEEN_GRAPH, workers=2)
    client, other, ps = world.start("worker"), world.start("worker", 1), world.start("ps")
    other.child(1)
    os.kill(client.child(1), signal.SIGKILL)
    client.child(2)
    client.until(status="running", restarts=1)
    assert (other.starts(), ps.starts()) == (1, 1)


def test_with_all_reduce_every_script_starts_afresh_with_the_clients(
    make_scripts: MakeScriptWorld,
) -> None:
    world = make_scripts(words=ALL_REDUCE, workers=2)
    client, other = world.start("worker"), world.start("worker", 1)
    first = other.child(1)
    os.kill(client.child(1), signal.SIGKILL)
    client.child(2)
    other.child(2)
    assert not alive(first)


def test_with_all_reduce_a_client_that_does_not_notice_a_lost_worker_starts_afresh(
    make_scripts: MakeScriptWorld,
) -> None:
    world = make_scripts(words=ALL_REDUCE, workers=2)
    client, other = world.start("worker", GUARD_SECONDS="0.2"), world.start("worker", 1)
    first = client.child(1)
    os.kill(other.child(1), signal.SIGKILL)
    client.child(2)
    other.child(2)
    assert not alive(first)
    client.until(status="running", restarts=1)


def test_restarts_are_given_up_in_the_end(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(restarts=1)
    chief, *_ = world.start_all()
    for number in (1, 2):
        os.kill(chief.child(number), signal.SIGKILL)
    assert chief.ends() == 1
    assert "given up after 1 restarts in a row (failure.restarts)" in chief.said()


@pytest.mark.parametrize("manner", ["", "careful", "deaf"])
def test_a_script_that_is_asked_to_end_is_42_however_it_ends(
    make_scripts: MakeScriptWorld, manner: str
) -> None:
    world = make_scripts()
    chief = world.start("chief", SAVE_SECONDS="1")
    worker, ps = world.start("worker"), world.start("ps")
    for task in (chief, worker):
        task.child(1)
        if manner:
            task.do(manner)
            obeyed(task)
    for task in (chief, worker, ps):
        task.stop()
    assert [task.ends() for task in (chief, worker, ps)] == [42, 42, 42]
    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"]) == ("stopped", False)


def test_a_script_is_told_its_cluster_in_both_ways(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(
        "--ps_hosts=$(PS_HOSTS)",
        "$(JOB_NAME)/$(TASK_INDEX)",
        "--logs=$(LOG_DIR)",
        "$$(LOG_DIR) $$5 $ $(",
        words=BETWEEN_GRAPH,
        workers=2,
    )
    world.start("worker")
    other, _ = world.start("worker", 1), world.start("ps")
    other.child(1)
    heard = told(other)
    ps = world.addresses["ps"][0]
    assert heard["args"] == [
        f"--ps_hosts={ps}",
        "worker/1",
        f"--logs={world.run_dir}",
        "$(LOG_DIR) $5 $ $(",
    ]
    environment = heard["environment"]
    assert json.loads(environment["TF_CONFIG"]) == {
        "cluster": world.addresses,
        "task": {"type": "worker", "index": 1},
    }
    assert environment["PS_HOSTS"] == ps
    assert environment["WORKER_HOSTS"] == ",".join(world.addresses["worker"])
    assert environment["DATA_DIR"] == str(world.directory / "data")
    assert Path(environment["LOG_DIR"]).is_dir()
    assert "TF_USE_LEGACY_KERAS" not in environment
    assert "TF_CLUSTER_CONTROL" not in environment
    assert heard["directory"] == str(STAND_IN.parent)


def test_a_script_below_a_path_runs_in_it(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(words=ALL_REDUCE)
    world.program.update(script=STAND_IN.name, path=str(STAND_IN.parent))
    client = world.start("worker")
    client.child(1)
    heard = told(client)
    assert heard["directory"] == str(STAND_IN.parent)
    assert heard["environment"]["PYTHONPATH"].split(os.pathsep)[0] == str(STAND_IN.parent)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"args": ["$(PS_HOST)"]}, "$(PS_HOST) is not known; these are: $(PS_HOSTS)"),
        ({"script": "/nowhere/train.py"}, "there is no file /nowhere/train.py"),
        ({"script": "train.py"}, "neither absolute nor below a program.path"),
        ({"module": "a:B"}, "/program: exactly one of module, script and interactive is needed"),
    ],
)
def test_a_script_that_can_not_run_is_exit_2_before_anybody_is_waited_for(
    make_scripts: MakeScriptWorld, changes: dict[str, Any], words: str
) -> None:
    world = make_scripts()
    world.program.update(changes)
    chief = world.start("chief")
    assert chief.ends() == 2
    assert words in chief.said()


def test_a_ps_can_run_the_script_too(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(ps="script", words=BETWEEN_GRAPH)
    client, ps = world.start("worker"), world.start("ps")
    ps.child(1)
    assert told(ps)["environment"]["JOB_NAME"] == "ps"
    client.do("exit 0")
    assert client.ends() == 0
    assert ps.process.poll() is None
    ps.stop()
    assert ps.ends() == 42


def test_a_ps_whose_script_ends_stays_until_it_is_ended(make_scripts: MakeScriptWorld) -> None:
    world = make_scripts(ps="script", words=BETWEEN_GRAPH)
    world.start("worker")
    ps = world.start("ps")
    ps.child(1)
    ps.do("exit 0")
    ps.until(status="waiting")
    ps.stop()
    assert ps.ends() == 42
    assert ps.starts() == 1


def test_a_later_attempt_starts_its_script_when_the_one_before_has_ended(
    make_scripts: MakeScriptWorld,
) -> None:
    old = make_scripts(words=ALL_REDUCE)
    before = old.start("worker")
    script = before.child(1)
    new = make_scripts(words=ALL_REDUCE, attempt="a2", jobs={"worker": "wj2"})
    after = new.start("worker")
    after.child(1)
    assert not alive(script)
    assert before.ends() == 0
    assert "superseded" in before.said()


def test_a_script_that_has_ended_well_is_not_run_again_by_a_replaced_pod(
    make_scripts: MakeScriptWorld,
) -> None:
    world = make_scripts(words=ALL_REDUCE)
    client = world.start("worker")
    client.child(1)
    client.do("exit 0")
    assert client.ends() == 0

    again = world.start("worker")
    assert again.ends() == 0
    assert again.starts() == 1
