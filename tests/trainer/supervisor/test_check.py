"""`tf-trainer-check`, which `helm test` runs: green where all is well, else red with the cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tf_cluster_trainer.check import check

from tests.ports import free_port
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors


def checked(world: Supervisors, seconds: float = 0, **environment: str) -> tuple[int, str]:
    said: list[str] = []
    place = {"TF_CLUSTER_CONFIG": str(world.write()), **environment}
    return check(place, said.append, seconds), "\n".join(said)


def training(make_world: MakeWorld) -> Supervisors:
    world = make_world()
    for task in world.start_all():
        task.until(status="running")
    return world


def test_a_training_whose_tasks_all_answer_is_good(make_world: MakeWorld) -> None:
    code, said = checked(training(make_world), TF_CLUSTER_ATTEMPT="a1")
    assert code == 0, said
    assert "the ConfigMap is good: 1 chief, 1 worker, 1 ps, attempt a1" in said
    assert "every task answers by its name, on its ports" in said


def test_a_task_that_is_not_there_is_named(make_world: MakeWorld) -> None:
    world = training(make_world)
    world.tasks[2].kill()
    code, said = checked(world)
    assert code == 1
    assert f"ps-0: {world.addresses['ps'][0]}: Connection refused" in said
    assert "worker-0" not in said
    assert "look at the pods: kubectl get pods" in said


def test_a_task_that_comes_late_is_waited_for(make_world: MakeWorld) -> None:
    world = make_world()
    world.start("chief")
    world.start("worker")
    code, said = checked(world)
    assert code == 1
    world.start("ps")
    code, said = checked(world, seconds=60)
    assert code == 0, said


def test_a_chief_that_does_not_answer_is_named_with_what_it_last_said(
    make_world: MakeWorld,
) -> None:
    world = training(make_world)
    chief = world.tasks[0]
    eventually("progress.json", (world.run_dir / "progress.json").exists)
    chief.stop()
    chief.ends()
    code, said = checked(world)
    assert code == 1
    assert f"chief-0: no status from the Service at {chief.address}: refuses connections" in said
    assert "it last said stopped: " in said


def test_a_service_that_leads_to_another_attempt_is_named(make_world: MakeWorld) -> None:
    world, other = training(make_world), make_world(attempt="b2")
    other.start("chief")
    other.tasks[0].until(status="waiting")
    place = world.write()
    cluster: dict[str, Any] = json.loads((place / "cluster.json").read_text())
    cluster["status"]["chief"] = other.addresses["chief"]
    (place / "cluster.json").write_text(json.dumps(cluster))
    said: list[str] = []
    assert check({"TF_CLUSTER_CONFIG": str(place)}, said.append, 0) == 1
    assert f"the Service at {other.addresses['chief'][0]} leads to attempt b2" in "\n".join(said)


def test_a_name_that_is_not_in_dns_is_named(make_world: MakeWorld) -> None:
    world = training(make_world)
    world.addresses["ps"] = ["digits-ps-0.nowhere.invalid:2222"]
    code, said = checked(world)
    assert code == 1
    assert "ps-0: digits-ps-0.nowhere.invalid has no name in DNS" in said


def test_a_training_that_is_done_is_good_although_nobody_is_left(make_world: MakeWorld) -> None:
    world = training(make_world)
    chief = world.tasks[0]
    chief.do("finish")
    for task in world.tasks[:2]:
        assert task.ends() == 0
    world.tasks[2].kill()
    code, said = checked(world)
    assert code == 0, said
    assert "the training is done" in said
    # Its Service stays as long as the release: without its name something is wrong.
    world.addresses["chief"] = ["digits-chief.nowhere.invalid:8080"]
    code, said = checked(world)
    assert code == 1
    assert "the Service digits-chief.nowhere.invalid has no name in DNS" in said


def test_a_training_that_failed_says_so_at_once(make_world: MakeWorld) -> None:
    world = training(make_world)
    world.tasks[0].do("exit 2")
    assert world.tasks[0].ends() == 2
    code, said = checked(world, seconds=600)
    assert code == 1
    assert "the training failed: " in said


def test_what_another_attempt_wrote_counts_for_nothing(make_world: MakeWorld) -> None:
    world = make_world()
    world.run_dir.mkdir(parents=True)
    done = {"attempt": "other", "status": "done", "final": True}
    (world.run_dir / "progress.json").write_text(json.dumps(done))
    code, said = checked(world)
    assert code == 1
    assert "chief-0: no status from the Service" in said


def test_files_that_are_wrong_are_named(make_world: MakeWorld, tmp_path: Path) -> None:
    place = make_world().write()
    said: list[str] = []
    for name, text, words in (
        ("cluster.json", "{", "the ConfigMap is wrong: "),
        ("training.json", '{"version": 1}', "training.json: /: "),
    ):
        before = (place / name).read_text()
        (place / name).write_text(text)
        assert check({"TF_CLUSTER_CONFIG": str(place)}, said.append) == 1
        assert words in said[-1]
        (place / name).write_text(before)
    said.clear()
    meant = {"TF_CLUSTER_CONFIG": str(place), "TF_CLUSTER_ATTEMPT": "b2"}
    assert check(meant, said.append) == 1
    assert said == ["the ConfigMap is of attempt a1, and this release's is b2"]


def test_a_scripts_own_port_need_not_answer(make_world: MakeWorld) -> None:
    world = make_world(words=("all-reduce", "between-graph", "sync"))
    world.program = {"script": "/nowhere/train.py"}
    config = world.write()
    port = free_port()
    cluster = json.loads((config / "cluster.json").read_text())
    cluster["cluster"]["worker"] = [f"127.0.0.1:{port}"]
    (config / "cluster.json").write_text(json.dumps(cluster))
    said: list[str] = []
    check({"TF_CLUSTER_CONFIG": str(config)}, said.append, 0)
    assert str(port) not in "\n".join(said)
