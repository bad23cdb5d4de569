"""Two attempts on one run, with real supervisors."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors


def two_attempts(make_world: MakeWorld) -> tuple[Supervisors, Supervisors]:
    """One and the next, on the same run."""
    jobs = {"chief": "cj2", "worker": "wj2", "ps": ""}
    return make_world(attempt="a1"), make_world(attempt="a2", jobs=jobs)


def rolled_back(make_world: MakeWorld, old: Supervisors) -> Supervisors:
    """The configuration of `old` once more, hence its addresses, in new Jobs."""
    jobs = {"chief": "cj3", "worker": "wj3", "ps": "", "evaluator": "ej3"}
    again = make_world(attempt=old.attempt, files=f"{old.attempt}-again", jobs=jobs)
    again.addresses, again.evaluator = old.addresses, old.evaluator
    return again


def test_a_later_attempt_takes_over_and_the_earlier_saves_and_ends(make_world: MakeWorld) -> None:
    old, new = two_attempts(make_world)
    old_chief, old_worker, _ = old.start_all(RENEWAL_SECONDS="1")
    old_chief.until(status="running")
    new_chief, new_worker, _ = new.start_all(RENEWAL_SECONDS="1")
    assert (old_chief.ends(), old_worker.ends()) == (0, 0)
    assert "attempt a2 takes over" in old_chief.said()
    assert list((old.run_dir / "checkpoints").iterdir())

    new_chief.until(status="running")
    owner = json.loads((new.run_dir / "owner.json").read_text())
    assert (owner["jobUid"], owner["attempt"]) == ("cj2", "a2")
    assert "cj" in owner["superseded"]
    new_chief.do("finish")
    assert (new_chief.ends(), new_worker.ends()) == (0, 0)


def test_an_owner_whose_save_keeps_the_disk_from_its_renewals_hands_the_run_over_in_order(
    make_world: MakeWorld,
) -> None:
    old, new = two_attempts(make_world)
    busy = old.directory / "busy"
    old_chief, old_worker, _ = old.start_all(BUSY_DISK=str(busy))
    old_chief.until(status="running")
    busy.touch()
    new_chief, _, _ = new.start_all()

    def waits_or_trains() -> dict[str, Any] | None:
        seen = new_chief.progress()
        late = "which does not renew, but answers (a slow disk?)" in seen.get("message", "")
        return seen if late or seen.get("status") == "running" else None

    seen = eventually("more than three periods without a renewal", waits_or_trains)
    assert seen["status"] == "waiting", old_chief.said()
    busy.unlink()
    assert (old_chief.ends(), old_worker.ends()) == (0, 0)
    # It was asked, so it could save.
    assert "attempt a2 takes over: this one saves and ends" in old_chief.said()
    assert list((old.run_dir / "checkpoints").iterdir())
    new_chief.until(status="running")


def test_a_superseded_attempt_that_starts_again_ends_without_a_step(make_world: MakeWorld) -> None:
    old, new = two_attempts(make_world)
    old.start_all()[0].until(status="running")
    new_chief, _, _ = new.start_all()
    new_chief.until(status="running")
    again, _ = old.start("chief"), old.start("worker")
    assert again.ends() == 0
    assert again.progress() == {}
    assert "superseded" in again.said()
    assert new_chief.progress()["status"] == "running"


def test_the_first_configuration_again_in_new_jobs_takes_over_from_the_second(
    make_world: MakeWorld,
) -> None:
    first, second = two_attempts(make_world)
    first_chief, first_worker, first_ps = first.start_all()
    first_chief.until(status="running")
    second_chief, second_worker, _ = second.start_all()
    assert (first_chief.ends(), first_worker.ends()) == (0, 0)
    first_ps.kill()  # as the cleanup does
    second_chief.until(status="running")
    second_chief.do("save 70000")
    second_chief.until(checkpointStep=70000)

    third = rolled_back(make_world, first)
    chief, worker, _ = third.start_all()
    evaluator = third.start("evaluator")
    assert (second_chief.ends(), second_worker.ends()) == (0, 0)
    assert "superseded, exit code 0" in second_chief.said()
    assert chief.until(status="running")["checkpointStep"] == 70000
    owner = json.loads((third.run_dir / "owner.json").read_text())
    assert (owner["jobUid"], owner["attempt"]) == ("cj3", "a1")
    assert {"cj", "cj2"} <= set(owner["superseded"])
    assert (worker.process.poll(), evaluator.process.poll()) == (None, None)
    # A late pod of either of the others finds itself superseded and changes nothing.
    late = second.start("chief")
    assert late.ends() == 0
    assert "superseded" in late.said()

    chief.do("finish")
    assert [task.ends() for task in (chief, worker, evaluator)] == [0, 0, 0]
    document = json.loads((third.run_dir / "progress.json").read_text())
    assert (document["status"], document["jobUids"]["chief"]) == ("done", "cj3")


def test_the_final_state_of_the_first_jobs_does_not_end_those_that_come_back(
    make_world: MakeWorld,
) -> None:
    first, second = two_attempts(make_world)
    first_chief, first_worker, first_ps = first.start_all()
    first_chief.until(status="running")
    os.kill(first_chief.child(1), signal.SIGSTOP)  # so that the second has to wait for the run
    second_chief, _, _ = second.start_all()
    eventually("the second waits for the run", (second.run_dir / "successor.json").exists)
    second_chief.kill()
    os.kill(first_chief.child(1), signal.SIGCONT)
    assert (first_chief.ends(), first_worker.ends()) == (0, 0)
    first_ps.kill()
    left = json.loads((first.run_dir / "progress.json").read_text())
    assert (left["attempt"], left["status"], left["final"]) == ("a1", "superseded", True)

    third = rolled_back(make_world, first)
    worker, evaluator, _ = (third.start(kind) for kind in ("worker", "evaluator", "ps"))
    for task in (worker, evaluator):
        task.child(1)
    eventually("the worker serves", lambda: worker.health().get("serving"))
    time.sleep(0.5)  # five looks at progress.json
    chief = third.start("chief")
    chief.until(status="running")
    chief.do("finish")
    assert [task.ends() for task in (chief, worker, evaluator)] == [0, 0, 0]
    assert (worker.starts(), evaluator.starts()) == (1, 1)


def test_an_owner_file_that_nobody_can_read_is_watched_and_then_replaced(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.run_dir.mkdir(parents=True)
    (world.run_dir / "owner.json").write_text("{ cut off")
    chief, _, _ = world.start_all()
    chief.until(status="running")
    owner = json.loads((world.run_dir / "owner.json").read_text())
    assert owner["jobUid"] == "cj"


def test_an_owner_that_vanished_is_replaced_after_three_periods(make_world: MakeWorld) -> None:
    old, new = two_attempts(make_world)
    chief, _, _ = old.start_all()
    chief.until(status="running")
    chief.kill()
    new.start_all()[0].until(status="running")


def test_an_owner_that_slept_writes_nothing_when_it_wakes(make_world: MakeWorld) -> None:
    old = make_world(attempt="a1", final_seconds=0.1)
    new = make_world(attempt="a2", jobs={"chief": "cj2", "worker": "wj2", "ps": ""})
    chief, _, _ = old.start_all()
    chief.until(status="running")
    chief.process.send_signal(signal.SIGSTOP)
    new_chief, _, _ = new.start_all()
    new_chief.until(status="running")
    os.kill(chief.child(1), signal.SIGSTOP)
    chief.process.send_signal(signal.SIGCONT)
    assert chief.ends() == 0
    assert "attempt a2 has taken the run over" in chief.said()
    document = json.loads((new.run_dir / "progress.json").read_text())
    assert document["attempt"] == "a2"


def test_a_removed_run_directory_ends_the_chief_without_a_final_state(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    chief, worker, _ = world.start_all()
    chief.until(status="running")
    (world.run_dir / "owner.json").unlink()
    assert chief.ends() == 1
    assert "was the run removed?" in chief.said()
    assert worker.process.poll() is None
