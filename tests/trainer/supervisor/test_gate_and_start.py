"""Before the first step: configuration, ports, directories, peers."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tests.support.waiting import eventually

from .conftest import MakeWorld


def test_the_gate_names_the_missing_task_its_host_and_the_reason(make_world: MakeWorld) -> None:
    world = make_world()
    world.addresses["worker"] = ["worker-0.nowhere.invalid:8080"]
    chief, _ = world.start("chief"), world.start("ps")

    def message_of_the_gate() -> str | None:
        message = str(chief.progress().get("message"))
        return message if "does not resolve" in message and "1 of 2" in message else None

    message = eventually("the gate's message", message_of_the_gate)
    assert re.fullmatch(
        r"waiting for 1 of 2 tasks, \d+ s of 60 s: worker-0 \(worker-0.nowhere.invalid\): "
        r"its name does not resolve \(no pod yet\?\)\. Look at: kubectl get pods",
        message,
    )
    eventually("the log says it too", lambda: "worker-0.nowhere.invalid" in chief.said())


def test_the_gate_does_not_take_another_attempts_server_for_its_own(make_world: MakeWorld) -> None:
    mine, other = make_world(attempt="a1"), make_world(attempt="a2")
    other.addresses["ps"] = mine.addresses["ps"]
    chief, _, _ = mine.start("chief"), mine.start("worker"), other.start("ps")
    eventually(
        "message", lambda: "serves another attempt (a2)" in chief.progress().get("message", "")
    )
    assert chief.progress()["status"] == "waiting"


def test_the_gates_deadline_is_exit_43_and_names_who_is_missing(make_world: MakeWorld) -> None:
    chief = make_world(deadline=1.0).start("chief")
    assert chief.ends() == 43
    assert "given up waiting for 2 of 2 tasks" in chief.said()
    assert "peers.deadlineSeconds" in chief.said()


def test_a_port_that_is_taken_is_exit_2_and_named(make_world: MakeWorld) -> None:
    world = make_world()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        world.addresses["worker"] = [f"127.0.0.1:{port}"]
        worker = world.start("worker")
        assert worker.ends() == 2
    assert f"port {port} on 127.0.0.1 can't be had" in worker.said()
    assert "worker-0's status server needs it" in worker.said()


def test_a_log_directory_that_is_a_file_is_exit_2_with_the_values_to_set(
    make_world: MakeWorld,
) -> None:
    world = make_world(final_seconds=0.1)
    (world.directory / "log" / "digits").write_text("in the way")
    chief = world.start("chief")
    assert chief.ends() == 2
    assert "security.podSecurityContext.fsGroup" in chief.said()
    assert chief.starts() == 0


def test_a_chief_that_never_had_the_run_owes_no_disk_its_end(make_world: MakeWorld) -> None:
    """It is not kept waiting by a log directory that it can't use."""
    world = make_world(words=("all-reduce", "between-graph", "sync"), final_seconds=3.0)
    (world.directory / "log" / "digits").write_text("in the way")
    chief = world.start("worker")
    assert chief.ends() == 2
    assert "ending all the same" not in chief.said()


def test_a_file_in_the_place_of_the_checkpoints_is_exit_2_and_named(make_world: MakeWorld) -> None:
    world = make_world(final_seconds=0.1)
    world.run_dir.mkdir(parents=True)
    (world.run_dir / "checkpoints").write_text("in the way")
    chief = world.start("chief")
    assert chief.ends() == 2
    assert f"the log directory {world.run_dir}/checkpoints can't be written" in chief.said()
    assert chief.starts() == 0


def test_a_missing_data_directory_is_exit_2_and_every_worker_hears_it(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    (world.directory / "data").rmdir()
    chief, worker = world.start("chief"), world.start("worker")
    assert (chief.ends(), worker.ends()) == (2, 0)
    assert "the data directory" in chief.said()


def test_a_run_that_is_at_its_total_ends_at_once_without_peers(make_world: MakeWorld) -> None:
    world = make_world(steps=20, final_seconds=0.1)
    whole = world.run_dir / "checkpoints" / "ckpt-20"
    whole.mkdir(parents=True)
    (whole / "meta.json").write_text(json.dumps({"version": 1, "step": 20}))
    chief = world.start("chief")
    assert chief.ends() == 0
    assert "is at step 20 of 20 already: nothing to train" in chief.said()
    assert chief.starts() == 0


def test_a_run_that_was_cut_off_before_its_export_is_finished(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    whole = world.run_dir / "checkpoints" / "ckpt-20"
    whole.mkdir(parents=True)
    (whole / "meta.json").write_text(json.dumps({"version": 1, "step": 20}))
    (world.run_dir / "progress.json").write_text(json.dumps({"status": "saving", "step": 20}))
    chief, worker, _ = world.start_all()
    assert (chief.ends(), worker.ends()) == (0, 0)
    assert chief.starts() == 1
    assert json.loads((world.run_dir / "progress.json").read_text())["export"] == "/export/1"


def test_a_second_start_of_a_finished_run_tells_its_result_again(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    chief, worker, _ = world.start_all()
    assert (chief.ends(), worker.ends()) == (0, 0)
    again = make_world(steps=20, attempt="a2", final_seconds=60)
    again.addresses["ps"] = world.addresses["ps"]
    chief = again.start("chief")
    document = chief.until(status="done")
    assert document["metrics"] == {"accuracy": 0.97}
    assert document["export"] == "/export/1"
    worker = again.start("worker")
    assert (chief.ends(), worker.ends()) == (0, 0)


def test_a_late_worker_reads_the_final_state_from_the_run_directory(make_world: MakeWorld) -> None:
    world = make_world(steps=1_000_000, workers=2, final_seconds=0.5)
    chief, first, _ = world.start_all()
    second = world.start("worker", 1)
    chief.until(status="running")
    second.kill()
    chief.do("finish")
    assert (chief.ends(), first.ends()) == (0, 0)
    second = world.start("worker", 1)
    assert second.ends() == 0
    assert second.starts() == 1


def test_a_worker_of_another_job_does_not_act_on_that_final_state(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    chief, worker, _ = world.start_all()
    assert (chief.ends(), worker.ends()) == (0, 0)
    world.jobs["worker"] = "another"
    world.steps = 40  # there are steps left to make
    worker = world.start("worker")
    eventually("it serves", lambda: worker.health().get("serving"))


def test_configuration_that_is_not_there_is_exit_2_and_named(make_world: MakeWorld) -> None:
    chief = make_world().start("chief", TF_CLUSTER_CONFIG="/nowhere")
    assert chief.ends() == 2
    assert "/nowhere/cluster.json: No such file or directory" in chief.said()


def test_a_task_without_a_job_uid_is_exit_2(make_world: MakeWorld) -> None:
    chief = make_world().start("chief", TF_CLUSTER_JOB_UID="")
    assert chief.ends() == 2
    assert "TF_CLUSTER_JOB_UID is empty" in chief.said()


@pytest.mark.parametrize(
    "words",
    [
        ("all-reduce", "in-graph", "async"),
        ("all-reduce", "in-graph", "sync"),
        ("all-reduce", "between-graph", "async"),
    ],
)
def test_words_that_do_not_go_together_are_exit_2(
    make_world: MakeWorld, words: tuple[str, str, str]
) -> None:
    task = make_world(words=words).start("worker")
    assert task.ends() == 2
    assert f"{'/'.join(words)} do not go together; these do: parameter-server/" in task.said()


IN_GRAPH = ("parameter-server", "in-graph", "async")
BETWEEN_GRAPH = ("parameter-server", "between-graph", "async")
ALL_REDUCE = ("all-reduce", "between-graph", "sync")


@pytest.mark.parametrize(
    ("words", "counts", "complaint"),
    [
        (IN_GRAPH, {"worker": 1, "ps": 1}, "in-graph needs exactly one chief, not 0"),
        (BETWEEN_GRAPH, {"chief": 1, "worker": 1, "ps": 1}, "between-graph has no chief"),
        (BETWEEN_GRAPH, {"worker": 1}, "parameter-server needs at least one ps"),
        (ALL_REDUCE, {"worker": 1, "ps": 1}, "all-reduce has no ps"),
        (ALL_REDUCE, {"chief": 1, "worker": 1}, "between-graph has no chief"),
    ],
)
def test_tasks_that_do_not_go_with_the_way_of_training_are_exit_2(
    make_world: MakeWorld, words: tuple[str, str, str], counts: dict[str, int], complaint: str
) -> None:
    task = make_world(words=words, counts=counts).start("worker")
    assert task.ends() == 2
    assert complaint in task.said()


def test_momentum_of_another_optimizer_is_exit_2(make_world: MakeWorld) -> None:
    optimizer = {"name": "Adam", "learningRate": 0.1, "momentum": 0.9}
    chief = make_world(optimizer=optimizer).start("chief")
    assert chief.ends() == 2
    assert "/train/optimizer/momentum is 0.9, but the optimizer is Adam" in chief.said()


def test_momentum_of_momentum_is_taken(make_world: MakeWorld) -> None:
    optimizer = {"name": "Momentum", "learningRate": 0.1, "momentum": 0.9}
    make_world(optimizer=optimizer).start("chief").child(1)
