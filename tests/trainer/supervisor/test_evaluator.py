"""The evaluator's supervisor: it follows its attempt, is waited for by nobody, and ends."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer.run_directory import evaluator_claim, layout
from tf_cluster_trainer.run_directory.owner import Owner, create_owner

from tests.support.processes import alive
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors, Task

BEST = {"TF_CLUSTER_EXPORT_BEST": "max:accuracy"}


def finished_at(evaluator: Task, number: int = 1) -> str:
    """The last step that its n-th Finish named."""
    note = evaluator.directory / f"evaluator-0.{number}.finish"
    eventually(f"the evaluator is told to finish; log:\n{evaluator.said()}", note.exists)
    return note.read_text()


def write_progress(world: Supervisors, **fields: Any) -> None:
    world.run_dir.mkdir(parents=True, exist_ok=True)
    document = {"attempt": world.attempt, "final": True, "jobUids": {}, "message": "", **fields}
    (world.run_dir / "progress.json").write_text(json.dumps(document))


def write_checkpoint(world: Supervisors, step: int) -> None:
    directory = world.run_dir / "checkpoints" / f"ckpt-{step}"
    directory.mkdir(parents=True)
    (directory / "meta.json").write_text(json.dumps({"version": 1, "step": step}))


def write_record(world: Supervisors, step: int) -> None:
    evaluation = {"step": step, "time": 1.0, "metrics": {"accuracy": 0.5}}
    record = {"version": 1, "evaluations": [evaluation], "best": None}
    (world.run_dir / "evaluations.json").write_text(json.dumps(record))


def test_it_evaluates_the_last_checkpoint_when_training_is_done_and_ends_with_0(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    chief, _, _ = world.start_all()
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting", message="waiting for a checkpoint")
    chief.until(status="running")
    evaluator.do("evaluate 7")
    shown = evaluator.until(step=7)
    assert shown["metrics"] == {"accuracy": 0.5}
    assert shown["message"] == "evaluating the checkpoint of step 7"

    chief.do("finish")

    assert chief.ends() == 0
    assert evaluator.ends() == 0
    assert finished_at(evaluator) == str(world.steps)
    uids = json.loads((world.run_dir / "progress.json").read_text())["jobUids"]
    assert uids == {"chief": "cj", "worker": "wj", "evaluator": "ej"}
    assert "done, exit code 0" in evaluator.said()


def test_the_chief_ends_though_the_evaluator_is_still_at_it(make_world: MakeWorld) -> None:
    world = make_world(steps=20, final_seconds=60.0)
    world.write()
    (world.children / "evaluator-0.hold").touch()
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting")
    chief, worker, _ = world.start_all()
    assert (chief.ends(), worker.ends()) == (0, 0)
    finished_at(evaluator)
    assert evaluator.process.poll() is None
    (world.children / "evaluator-0.hold").unlink()
    assert evaluator.ends() == 0


def test_one_that_comes_after_the_end_evaluates_what_is_there(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    chief, _, _ = world.start_all()
    assert chief.ends() == 0
    evaluator = world.start("evaluator")
    assert evaluator.ends() == 0
    assert finished_at(evaluator) == "20"


def test_one_with_nothing_left_to_evaluate_needs_no_child(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    write_checkpoint(world, 20)
    write_progress(world, status="done", checkpointStep=20)
    write_record(world, 20)
    evaluator = world.start("evaluator")
    assert evaluator.ends() == 0
    assert evaluator.starts() == 0
    # A best model that is asked for now was not looked for then.
    again = world.start("evaluator", **BEST)
    assert again.ends() == 0
    assert again.starts() == 1


def test_a_record_that_can_not_be_read_for_now_does_not_end_it(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    record = world.run_dir / "evaluations.json"
    record.mkdir(parents=True)  # reading it fails as a volume does
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting", message="waiting for a checkpoint")
    time.sleep(1.0)  # it looks at progress.json alone: there is no chief
    assert evaluator.process.poll() is None
    record.rmdir()
    write_checkpoint(world, 20)
    write_progress(world, status="done", checkpointStep=20)
    assert evaluator.ends() == 0
    assert finished_at(evaluator) == "20"


def test_a_failed_attempt_ends_it_with_0(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, _ = world.start_all()
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting")
    child = evaluator.child(1)
    chief.until(status="running")
    chief.do("exit 2 the loss became NaN")
    assert chief.ends() == 2
    assert evaluator.ends() == 0
    assert "the attempt is over: the loss became NaN" in evaluator.said()
    assert not alive(child)


def test_a_failure_that_a_retry_may_mend_does_not_end_it(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, _ = world.start_all()
    evaluator = world.start("evaluator")
    chief.until(status="running")
    chief.do("exit 1 the disk is full")
    assert chief.ends() == 1
    again = world.start("chief")
    again.until(status="running")
    again.do("finish")
    assert evaluator.ends() == 0
    assert finished_at(evaluator) == str(world.steps)


def test_a_superseded_attempt_ends_it_and_the_next_ones_stays(make_world: MakeWorld) -> None:
    old = make_world()
    old.start_all()
    evaluator = old.start("evaluator")
    evaluator.until(status="waiting")
    jobs = {"chief": "cj2", "worker": "wj2", "ps": "", "evaluator": "ej2"}
    new = make_world(attempt="a2", jobs=jobs)
    chief, _, _ = new.start_all()
    next_one = new.start("evaluator")
    assert evaluator.ends() == 0
    assert "superseded" in evaluator.said()
    chief.until(status="running")
    next_one.until(status="waiting")
    chief.do("finish")
    assert next_one.ends() == 0


def test_what_an_earlier_job_of_the_same_attempt_left_does_not_end_it(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    write_progress(world, status="failed", jobUids={"evaluator": "another"})
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting")
    chief, _, _ = world.start_all()
    chief.until(status="running")
    assert evaluator.process.poll() is None


def test_sigterm_ends_it_with_42(make_world: MakeWorld) -> None:
    world = make_world()
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting")
    evaluator.stop()
    assert evaluator.ends() == 42
    assert not alive(evaluator.child(1))


def test_a_program_error_is_exit_2_and_the_training_goes_on(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, _ = world.start_all()
    evaluator = world.start("evaluator")
    chief.until(status="running")
    evaluator.do("exit 2 evaluate is broken")
    assert evaluator.ends() == 2
    assert "failed, exit code 2" in evaluator.said()
    assert "evaluate is broken" in evaluator.said()
    step = chief.progress()["step"]
    eventually("the training goes on", lambda: chief.progress()["step"] > step)


def test_a_child_that_is_lost_is_started_again_and_told_again(make_world: MakeWorld) -> None:
    world = make_world(restarts=2)
    world.write()
    (world.children / "evaluator-0.hold").touch()
    evaluator = world.start("evaluator")
    evaluator.until(status="waiting")
    chief, _, _ = world.start_all()
    chief.until(status="running")
    chief.do("finish")
    finished_at(evaluator)
    evaluator.do("exit 1 out of memory")
    assert finished_at(evaluator, 2) == str(world.steps)
    (world.children / "evaluator-0.hold").unlink()
    assert evaluator.ends() == 0


def test_one_that_fails_again_and_again_gives_up(make_world: MakeWorld) -> None:
    evaluator = make_world(restarts=1).start("evaluator")
    for number in (1, 2):
        evaluator.child(number)
        evaluator.do("exit 1 the disk is full")
        gone = evaluator.directory / "evaluator-0.do"
        eventually("the child reads its order", lambda gone=gone: not gone.exists())
    assert evaluator.ends() == 1
    assert "given up after 1 restarts in a row; the last time: the disk is full" in evaluator.said()


def test_an_attempt_that_says_nothing_for_long_is_given_up(make_world: MakeWorld) -> None:
    began = time.monotonic()
    evaluator = make_world(deadline=2.0).start("evaluator")
    assert evaluator.ends() == 43
    assert time.monotonic() - began >= 2.0
    assert "no word from chief-0 for 2 s (peers.deadlineSeconds)" in evaluator.said()


def test_the_one_that_started_last_is_the_attempts_evaluator(make_world: MakeWorld) -> None:
    world = make_world()
    world.start_all()
    one = world.start("evaluator")
    one.until(status="waiting")
    first = evaluator_claim.holder(world.run_dir, "a1")
    again = make_world(files="again", jobs={**world.jobs, "evaluator": "ej2"})
    again.addresses = world.addresses
    two = again.start("evaluator")
    two.until(status="waiting")
    assert evaluator_claim.holder(world.run_dir, "a1") not in (None, first)
    one.do("exit 45 pod b is this attempt's evaluator now: this one ends")
    assert one.ends() == 0
    assert "superseded, exit code 0: pod b is this attempt's evaluator now" in one.said()
    assert (one.starts(), two.process.poll()) == (1, None)


def test_the_next_attempts_evaluator_does_not_end_the_one_at_work(tmp_path: Path) -> None:
    create_owner(tmp_path, Owner("cj", "pod", "a1"))
    for attempt, pod in (("a1", "one"), ("a2", "two"), ("a3", "three")):
        evaluator_claim.post(tmp_path, attempt, pod)
        assert evaluator_claim.holder(tmp_path, attempt) == pod
    assert evaluator_claim.holder(tmp_path, "a1") == "one"
    evaluator_claim.post(tmp_path, "a1", "again")
    assert evaluator_claim.holder(tmp_path, "a1") == "again"


@pytest.mark.parametrize("text", ["", "[]", '{"pods": 3}', '{"pods": {"a1": 3}}'])
def test_a_file_that_names_no_evaluator_ends_none(tmp_path: Path, text: str) -> None:
    (tmp_path / layout.EVALUATOR).write_text(text)
    assert evaluator_claim.holder(tmp_path, "a1") is None
    evaluator_claim.post(tmp_path, "a1", "one")
    assert evaluator_claim.holder(tmp_path, "a1") == "one"


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TF_CLUSTER_STATUS", "", "the evaluator's status server needs a host:port"),
        ("TF_CLUSTER_EXPORT_BEST", "accuracy", "not max:<metric> or min:<metric>"),
        ("TF_CLUSTER_EXPORT_BEST", "max:", "not max:<metric> or min:<metric>"),
        ("TF_CLUSTER_TASK_INDEX", "1", "there is one evaluator, 0"),
    ],
)
def test_what_it_is_told_wrongly_is_named(
    make_world: MakeWorld, variable: str, value: str, words: str
) -> None:
    evaluator = make_world().start("evaluator", **{variable: value})
    assert evaluator.ends() == 2
    assert words in evaluator.said()


def test_a_record_that_is_none_is_named(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    write_checkpoint(world, 20)
    write_progress(world, status="done", checkpointStep=20)
    record: Path = world.run_dir / "evaluations.json"
    record.write_text("[]")
    evaluator = world.start("evaluator")
    assert evaluator.ends() == 2
    assert f"{record} is not what an evaluator wrote" in evaluator.said()
