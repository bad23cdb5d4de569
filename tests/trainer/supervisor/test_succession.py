"""Two attempts on one run, with real supervisors."""

from __future__ import annotations

import json
import os
import signal

from .conftest import MakeWorld


def test_a_later_attempt_takes_over_and_the_earlier_saves_and_ends(make_world: MakeWorld) -> None:
    old = make_world(attempt="a1")
    new = make_world(attempt="a2", jobs={"chief": "cj2", "worker": "wj2", "ps": ""})
    old_chief, old_worker, _ = old.start_all()
    old_chief.until(status="running")
    new_chief, new_worker, _ = new.start_all()
    assert (old_chief.ends(), old_worker.ends()) == (0, 0)
    assert "attempt a2 takes over" in old_chief.said()
    assert list((old.run_dir / "checkpoints").iterdir())

    new_chief.until(status="running")
    owner = json.loads((new.run_dir / "owner.json").read_text())
    assert (owner["jobUid"], owner["attempt"]) == ("cj2", "a2")
    assert "cj" in owner["superseded"]
    new_chief.do("finish")
    assert (new_chief.ends(), new_worker.ends()) == (0, 0)


def test_a_superseded_attempt_that_starts_again_ends_without_a_step(make_world: MakeWorld) -> None:
    old = make_world(attempt="a1")
    new = make_world(attempt="a2", jobs={"chief": "cj2", "worker": "wj2", "ps": ""})
    old.start_all()[0].until(status="running")
    new_chief, _, _ = new.start_all()
    new_chief.until(status="running")
    again, _ = old.start("chief"), old.start("worker")
    assert again.ends() == 0
    assert again.progress() == {}
    assert "superseded" in again.said()
    assert new_chief.progress()["status"] == "running"


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
    old = make_world(attempt="a1")
    new = make_world(attempt="a2", jobs={"chief": "cj2", "worker": "wj2", "ps": ""})
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
