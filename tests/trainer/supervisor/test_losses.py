"""Something is lost: who starts what again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.slices import sliced
from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Supervisors, Task


def kill_child(task: Task, number: int = 1) -> None:
    os.kill(task.child(number), signal.SIGKILL)


def test_a_killed_chief_child_is_replaced_and_the_ps_starts_afresh(make_world: MakeWorld) -> None:
    chief, worker, ps = make_world().start_all()
    before = chief.until(status="running")["epoch"]
    kill_child(chief)
    after = chief.until(status="running", restarts=1)["epoch"]
    assert after != before
    assert ps.health()["epoch"] == after
    assert (chief.starts(), ps.starts(), worker.starts()) == (2, 2, 1)


def test_what_a_lost_child_leaves_is_not_kept_as_a_zombie(make_world: MakeWorld) -> None:
    ps = make_world().start("ps", GETS_ORPHANS="1")
    first = ps.child(1)
    ps.do("leave 3600")
    orphan = eventually("a process of the child", lambda: children_of(first))
    ps.do("exit 1 gone")
    second = ps.child(2)
    assert children_of(ps.process.pid) == {*orphan, second}
    for pid in orphan:
        os.kill(pid, signal.SIGKILL)
    eventually("only the child is there", lambda: children_of(ps.process.pid) == {second})


def children_of(pid: int) -> set[int]:
    """Those of all its threads, zombies too."""
    children = set[int]()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that ends meanwhile
            children |= set(map(int, task.read_text().split()))
    return children


def test_a_replaced_chief_pod_gets_a_ps_that_starts_afresh(make_world: MakeWorld) -> None:
    world = make_world()
    chief, worker, ps = world.start_all()
    chief.until(status="running")
    chief.kill()
    chief = world.start("chief")
    epoch = chief.until(status="running")["epoch"]
    assert ps.health()["epoch"] == epoch
    assert (ps.starts(), worker.starts()) == (2, 1)


def test_a_lost_ps_restarts_once_and_so_does_the_chief(make_world: MakeWorld) -> None:
    chief, _, ps = make_world().start_all()
    first = chief.until(status="running")["epoch"]
    kill_child(ps)
    eventually("ps serves", lambda: ps.health().get("restarts") == 1 and ps.health()["serving"])
    # Its variables are lost: it must not pass for the server of the epoch that had them.
    assert ps.health()["epoch"] is None
    chief.do("exit 44 /job:ps/task:0 is gone")
    second = chief.until(status="running", restarts=1)["epoch"]
    assert second != first
    assert ps.health()["epoch"] == second
    assert (chief.starts(), ps.starts()) == (2, 2)


def test_a_replaced_ps_pod_waits_for_the_chief_to_start_again(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, ps = world.start_all()
    chief.until(status="running")
    ps.kill()
    ps = world.start("ps")
    eventually("the new ps serves", lambda: ps.health().get("serving"))
    assert ps.health()["epoch"] is None
    chief.do("exit 44 /job:ps/task:0 is gone")
    epoch = chief.until(status="running", restarts=1)["epoch"]
    assert ps.health()["epoch"] == epoch
    assert ps.starts() == 2


def test_a_ps_pod_replaced_without_the_child_noticing_starts_the_child_again(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    chief = world.start("chief", GUARD_SECONDS="0.2")
    worker, ps = world.start("worker"), world.start("ps")
    first = chief.until(status="running")["epoch"]
    ps.kill()
    # Silence is no proof: the ps may be back with all its variables.
    eventually("the ps is gone", lambda: ps.health() == {})
    time.sleep(1.0)
    assert chief.progress()["restarts"] == 0
    ps = world.start("ps")
    second = chief.until(status="running", restarts=1)["epoch"]
    assert second != first
    assert ps.health()["epoch"] == second
    assert "ps-0 was replaced and has no part" in chief.said()
    chief.do("finish")
    assert (chief.ends(), worker.ends(), chief.starts()) == (0, 0, 2)


def test_a_worker_replaced_without_the_child_noticing_starts_a_synchronous_child_again(
    make_world: MakeWorld,
) -> None:
    world = make_world(words=("parameter-server", "in-graph", "sync"))
    chief = world.start("chief", GUARD_SECONDS="0.2")
    worker, _ = world.start("worker"), world.start("ps")
    chief.until(status="running")
    worker.kill()
    world.start("worker")
    chief.until(status="running", restarts=1)
    assert "worker-0 was replaced and has no part" in chief.said()
    assert 'tf_cluster_task_losses_total{task="worker-0"} 1.0' in chief.metrics()


def test_a_replaced_worker_of_an_asynchronous_run_matters_only_when_no_step_is_made(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    chief = world.start("chief", GUARD_SECONDS="0.1", STALL_SECONDS="2")
    worker, _ = world.start("worker"), world.start("ps")
    chief.until(status="running")
    for number in (1, 2):
        kill_child(worker, number)
        worker.child(number + 1)
    time.sleep(3.0)  # more than STALL_SECONDS
    assert chief.progress()["restarts"] == 0
    chief.do("stall")
    kill_child(worker, 3)
    chief.until(status="running", restarts=1)
    assert "no step for 2 s, and worker-0 was replaced" in chief.said()


def test_steps_that_stop_are_no_fault_while_every_server_is_the_same(make_world: MakeWorld) -> None:
    world = make_world()
    chief = world.start("chief", GUARD_SECONDS="0.05", STALL_SECONDS="0.5")
    world.start("worker")
    world.start("ps")
    chief.until(status="running")
    chief.do("stall")
    time.sleep(2.0)
    assert chief.progress()["restarts"] == 0


def test_a_ps_that_keeps_its_epoch_is_left_alone(make_world: MakeWorld) -> None:
    world = make_world()
    chief = world.start("chief", GUARD_SECONDS="0.05")
    world.start("worker")
    world.start("ps")
    chief.until(status="running")
    time.sleep(1.0)
    assert chief.until(status="running")["restarts"] == 0


TOGETHER = [("chief", "worker"), ("ps", "worker"), ("chief", "ps"), ("chief", "ps", "worker")]


@pytest.mark.parametrize("lost", sliced(TOGETHER, 1), ids="+".join)
def test_pods_lost_at_once_find_each_other_again_and_the_run_goes_on(
    make_world: MakeWorld, lost: tuple[str, ...]
) -> None:
    world = make_world()
    tasks, first = training(world)
    for kind in lost:
        tasks[kind].kill()
    for kind in reversed(lost):
        tasks[kind] = world.start(kind)
    assert_goes_on(tasks, first)


@pytest.mark.parametrize("lost", sliced(TOGETHER, 1), ids="+".join)
def test_children_lost_at_once_are_all_started_again_and_the_run_goes_on(
    make_world: MakeWorld, lost: tuple[str, ...]
) -> None:
    tasks, first = training(make_world())
    for kind in lost:
        kill_child(tasks[kind])
    assert_goes_on(tasks, first)
    assert {kind: task.starts() > 1 for kind, task in tasks.items()} == {
        "chief": True,  # of a lost ps, too
        "ps": True,  # of a lost chief, too
        "worker": "worker" in lost,
    }


def training(world: Supervisors) -> tuple[dict[str, Task], str]:
    """One task of each kind, and the epoch in which they train."""
    # The ps of a chief that lives is replaced without its child's noticing it.
    tasks = {kind: world.start(kind, GUARD_SECONDS="0.2") for kind in ("chief", "worker", "ps")}
    return tasks, tasks["chief"].until(status="running")["epoch"]


def assert_goes_on(tasks: Mapping[str, Task], first: str) -> None:
    """In a new epoch with the same ps and worker for all, to the end."""
    chief, worker, ps = tasks["chief"], tasks["worker"], tasks["ps"]
    epoch = eventually(
        "the chief trains in a new epoch",
        lambda: (
            (now := chief.progress()).get("status") == "running"
            and now["epoch"] != first
            and now["epoch"]
        ),
    )
    assert ps.health()["epoch"] == epoch
    eventually("the worker serves", lambda: worker.health().get("serving"))
    chief.do("finish")
    assert (chief.ends(), worker.ends()) == (0, 0)


def test_a_chief_lost_while_the_ps_still_starts_does_not_keep_the_gate_shut(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.write()
    hold = world.children / "ps-0.hold"
    hold.touch()
    chief, _, ps = world.start_all()
    eventually("the ps adopts the epoch", lambda: ps.health().get("epoch") is not None)
    kill_child(chief)
    chief.child(2)
    hold.unlink()
    epoch = chief.until(status="running", restarts=1)["epoch"]
    assert ps.health()["epoch"] == epoch


def test_a_ps_lost_before_the_start_does_not_keep_the_gate_shut(make_world: MakeWorld) -> None:
    world = make_world()
    chief, ps = world.start("chief"), world.start("ps")
    eventually("the ps adopts the epoch", lambda: ps.health().get("epoch") is not None)
    kill_child(ps)
    ps.child(2)
    world.start("worker")
    chief.until(status="running", restarts=0)


def test_a_lost_worker_child_is_started_again_and_nobody_else_is(make_world: MakeWorld) -> None:
    chief, worker, ps = make_world().start_all()
    chief.until(status="running")
    kill_child(worker)
    eventually("back", lambda: worker.health().get("restarts") == 1 and worker.health()["serving"])
    chief.do("finish")
    assert (chief.ends(), worker.ends()) == (0, 0)
    assert (chief.starts(), worker.starts(), ps.starts()) == (1, 2, 1)


def test_peers_lost_too_often_without_a_checkpoint_is_exit_43(make_world: MakeWorld) -> None:
    chief, _, _ = make_world(restarts=2).start_all()
    for restarts in range(3):
        chief.until(status="running", restarts=restarts)
        chief.do("exit 44 ps-0 is gone")
    assert chief.ends() == 43
    assert "given up after 2 restarts without a new checkpoint" in chief.said()


def test_a_new_checkpoint_gives_all_restarts_back(make_world: MakeWorld) -> None:
    chief, _, _ = make_world(restarts=1).start_all()
    for restarts in range(3):
        chief.until(status="running", restarts=restarts)
        chief.do(f"save {100 + restarts}")
        chief.until(checkpointStep=100 + restarts)
        chief.do("exit 44 ps-0 is gone")
    chief.until(status="running", restarts=3)


def test_the_same_checkpoint_again_gives_no_restart_back(make_world: MakeWorld) -> None:
    chief, _, _ = make_world(restarts=1).start_all()
    for restarts in range(2):
        chief.until(status="running", restarts=restarts)
        chief.do("save 100")
        counted = f'tf_cluster_checkpoint_seconds_count{{way="copied"}} {restarts + 1}.0'
        eventually("the save is heard of", lambda counted=counted: counted in chief.metrics())
        chief.do("exit 44 ps-0 is gone")
    assert chief.ends() == 43
    assert "given up after 1 restarts without a new checkpoint" in chief.said()


def test_a_child_that_met_a_late_write_of_another_owner_is_started_again(
    make_world: MakeWorld,
) -> None:
    chief, _, _ = make_world().start_all()
    chief.until(status="running")
    chief.do("exit 45")
    chief.until(status="running", restarts=1)
    assert "found another owner for a moment" in chief.said()


def test_a_program_error_is_exit_2_and_ends_the_workers_at_once(make_world: MakeWorld) -> None:
    chief, worker, _ = make_world().start_all()
    chief.until(status="running")
    chief.do("exit 2 program.py has no class Program")
    assert (chief.ends(), worker.ends()) == (2, 0)
    assert "program.py has no class Program" in chief.said()
    assert chief.starts() == 1


def test_a_bad_program_is_exit_2_without_waiting_for_peers(make_world: MakeWorld) -> None:
    chief = make_world(final_seconds=0.1).start("chief")
    chief.child(1)
    chief.do("exit 2 No module named 'program'")
    assert chief.ends() == 2


def test_another_error_is_exit_1_and_left_to_the_job(make_world: MakeWorld) -> None:
    chief, worker, _ = make_world().start_all()
    chief.until(status="running")
    chief.do("exit 1 something else")
    assert chief.ends() == 1
    assert chief.starts() == 1
    assert worker.process.poll() is None


def test_a_worker_that_can_not_be_kept_running_is_exit_1(make_world: MakeWorld) -> None:
    worker = make_world(restarts=1).start("worker")
    kill_child(worker, 1)
    kill_child(worker, 2)
    assert worker.ends() == 1
    assert "given up after 1 restarts in a row" in worker.said()


def test_a_ps_replaced_while_the_chief_evaluates_is_not_missed(make_world: MakeWorld) -> None:
    world = make_world()
    chief = world.start("chief", GUARD_SECONDS="0.1")
    worker, ps = world.start("worker"), world.start("ps")
    chief.until(status="running")
    busy = world.children / "chief-0.busy"
    busy.touch()
    chief.do("finish")
    chief.until(checkpointStep=world.steps)
    ps.kill()
    ps = world.start("ps")
    eventually("the new ps serves", lambda: ps.health().get("serving"))
    time.sleep(1.0)  # ten questions
    busy.unlink()
    assert (chief.ends(), worker.ends(), chief.starts()) == (0, 0, 1)


def test_while_the_last_large_checkpoint_is_read_a_ps_is_missed_and_no_worker(
    make_world: MakeWorld,
) -> None:
    world = make_world(words=("parameter-server", "in-graph", "sync"))
    chief = world.start("chief", GUARD_SECONDS="0.1")
    worker, ps = world.start("worker"), world.start("ps")
    chief.until(status="running")
    reading = world.children / "chief-0.reading"
    reading.touch()
    chief.do("finish")
    worker.kill()
    worker = world.start("worker")
    eventually("the new worker serves", lambda: worker.health().get("serving"))
    time.sleep(1.0)  # ten questions
    assert chief.progress()["restarts"] == 0
    ps.kill()
    world.start("ps")
    chief.until(status="running", restarts=1)
    assert "ps-0 was replaced and has no part" in chief.said()
    reading.unlink()
    chief.do("finish")
    assert (chief.ends(), worker.ends(), chief.starts()) == (0, 0, 2)


def test_a_chief_whose_workers_are_all_gone_gives_up_as_at_the_gate(make_world: MakeWorld) -> None:
    """Their Job may have failed for good: nobody would ever make another step."""
    world = make_world()
    worker, ps = world.start("worker"), world.start("ps")
    # The deadline is the gate's, too: only the chief has a short one, and finds the others there.
    eventually("the worker serves", lambda: worker.health().get("serving"))
    eventually("the ps serves", lambda: ps.health().get("serving"))
    world.deadline = 5.0
    chief = world.start("chief", GUARD_SECONDS="0.1")
    chief.until(status="running")
    worker.kill()
    time.sleep(6.0)  # more than the deadline
    assert chief.process.poll() is None  # steps are made, by whomever
    chief.do("stall")
    assert chief.ends() == 43
    assert "no worker answers for 5 s (peers.deadlineSeconds). Look at:" in chief.said()


def test_a_final_state_that_the_disk_refused_is_written_later(make_world: MakeWorld) -> None:
    """Who could not ask the chief in time finds it in progress.json alone."""
    world = make_world(final_seconds=60.0)
    chief, worker, _ = world.start_all()
    chief.until(status="running")
    path = world.run_dir / "progress.json"
    eventually("progress.json is there", path.exists)
    path.unlink()
    path.mkdir()  # a rename onto it fails
    chief.do("finish")
    chief.until(status="done", final=True)
    assert worker.ends() == 0
    path.rmdir()
    assert chief.ends() == 0
    assert json.loads(path.read_text())["final"] is True
