"""between-graph: every worker makes its own steps, and the loss of a task restarts nobody else."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.protocol import Failure, Placement, Progress, Ready, Result, Saved, Serving
from tf_cluster_trainer.strategies.between_graph import variables as ps_variables
from tf_cluster_trainer.strategies.between_graph.generation import GenerationClock

from tests.programs import ENDLESS
from tests.slices import in_turn, sliced
from tests.support.children import DIGITS, Child, Children
from tests.support.trainings import HERE, learning_rates, saved
from tests.trainer.strategies import reference
from tests.trainer.strategies.between_graph.workers import begin, start
from tests.trainer.strategies.falling import (
    FALLING,
    SLOWING,
    SLOWING_STEPS,
    assert_fell_by_the_rates,
)
from tests.trainer.strategies.reference import BATCH, FIXED, RATE, STEPS, assert_as_in_one_process
from tests.trainer.strategies.turns import (
    AS_IN_ONE_PROCESS,
    FAULTS,
    MOVES,
    OWN_PART,
    turn,
)

OWN_WEIGHT = "tests.trainer.child.programs.own_part:LowersItsOwnWeight"
BROKEN = "tests.trainer.child.programs.broken:"
MANY = 2000  # nobody waits for an async worker that comes late: there are steps left for it
KILLED_PS = [
    pytest.param(update, killed, id=f"{update}-{killed}")
    for update, killed in (("async", 0), ("async", 1), ("sync", 0))
]


FALLING_CLOCK = """
import time
by_the_wall, began = time.time_ns, time.monotonic_ns()
time.time_ns = lambda: by_the_wall() - 2 * (time.monotonic_ns() - began)
"""


def make(directory: Path, workers: int) -> Children:
    return Children(directory, workers=workers, ps=2, has_chief=False)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Two ps for pairs of workers, one after the other."""
    with make(tmp_path_factory.mktemp("pair"), 2) as world:
        world.serve("ps")
        yield world


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Two ps for one worker at a time."""
    with make(tmp_path_factory.mktemp("single"), 1) as world:
        world.serve("ps")
        yield world


@pytest.fixture(autouse=True)
def _no_worker_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in ("pair", "single"):
        if name in request.fixturenames:
            for child in request.getfixturevalue(name).children:
                if "worker" in child.log.name:
                    child.end()


def begin_all(world: Children, run_id: str, **settings: Any) -> list[Child]:
    """The children of all workers. None waits for another to be started, so no one is far ahead."""
    workers = [start(world, index, run_id, **settings) for index in range(world.workers)]
    for worker in workers:
        worker.wait_for(Ready)
    for worker in reversed(workers):  # all wait for worker 0
        worker.go()
    return workers


def progress(worker: Child, steps: int = 20) -> None:
    """Until so many more steps are reported."""
    reports = worker.of(Progress)
    at = reports[-1].step if reports else 0
    worker.wait_for(Progress, lambda one: one.step >= at + steps)


def has_made_more(first: Child, index: str, steps: int) -> None:
    """Until that worker is reported to have made more steps."""
    at = first.of(Progress)[-1].workers[index]
    first.wait_for(Progress, lambda one: one.workers[index] > at + steps)


def serve_anew(world: Children) -> None:
    """New ps, as the supervisors see to with every start of worker 0.

    Old ones remember workers that are gone: a round that waits for them is begun again, which costs
    each worker a batch.
    """
    for child in world.children:
        if "-ps-" in child.log.name:
            child.end()
    world.serve("ps")


def move(world: Children, to: Children, run_id: str) -> None:
    """Let the other world go on with a run's checkpoints."""
    there = to.run_dir(run_id) / "checkpoints"
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(world.run_dir(run_id) / "checkpoints", there)


def all_done(workers: list[Child]) -> Result:
    """Everyone ends well and soon; what worker 0 found."""
    for worker in workers:
        assert worker.exit_code() == exit_codes.DONE, worker.tail()
    (result,) = workers[0].of(Result)
    return result


@pytest.mark.parametrize("optimizer", sliced(["SGD", "Momentum", "Adam", "Adagrad"], 1))
def test_a_sync_step_is_one_update_with_the_workers_mean_gradient(
    pair: Children, tmp_path: Path, optimizer: str
) -> None:
    named = {"name": optimizer, "learningRate": RATE}
    workers = begin_all(pair, optimizer, update="sync", steps=STEPS, optimizer=named)
    assert all_done(workers).step == STEPS
    last = workers[0].of(Progress)[-1]
    examples = STEPS * BATCH * 2
    assert (last.examples, last.workers) == (examples, {"0": STEPS, "1": STEPS})
    assert_as_in_one_process(pair, optimizer, STEPS, tmp_path, optimizer=optimizer)


@turn(AS_IN_ONE_PROCESS, of="between-graph sync")
def test_a_sync_step_of_micro_batches_is_one_update_with_the_mean_of_them_all(
    pair: Children, tmp_path: Path
) -> None:
    told = {"optimizer": {"name": "Adam", "learningRate": RATE}, "batch": 4, "micro": 2}
    workers = begin_all(pair, "micro", update="sync", steps=STEPS, **told)
    all_done(workers)
    assert workers[0].of(Progress)[-1].examples == STEPS * BATCH * 2
    assert_as_in_one_process(pair, "micro", STEPS, tmp_path, optimizer="Adam")


@turn(AS_IN_ONE_PROCESS, of="between-graph async")
def test_an_async_step_of_micro_batches_is_what_one_process_computes(
    single: Children, tmp_path: Path
) -> None:
    told = {"optimizer": {"name": "Adam", "learningRate": RATE}, "batch": 4, "micro": 2}
    workers = begin_all(single, "micro", steps=STEPS, **told)
    all_done(workers)
    assert workers[0].of(Progress)[-1].examples == STEPS * BATCH
    assert_as_in_one_process(single, "micro", STEPS, tmp_path, optimizer="Adam")


@turn(AS_IN_ONE_PROCESS, of="between-graph sync")
def test_the_learning_rate_of_sync_steps_goes_on_at_the_runs_step_after_a_new_start(
    pair: Children, tmp_path: Path
) -> None:
    """Both starts make whole epochs' steps, so the second takes the next rows."""
    named = {"name": "Adam", "learningRate": RATE, "schedule": reference.SCHEDULE}
    for steps in (24, STEPS):
        serve_anew(pair)
        workers = begin_all(pair, "schedule", update="sync", steps=steps, optimizer=named)
        assert all_done(workers).step == steps
    assert_as_in_one_process(
        pair, "schedule", STEPS, tmp_path, optimizer="Adam", rate=reference.SCHEDULED
    )


@turn(AS_IN_ONE_PROCESS, of="between-graph async")
def test_the_learning_rate_of_async_steps_follows_the_step_of_all_workers(pair: Children) -> None:
    """Also after a new start. By its own steps each worker would be at twice the rate or more."""
    for steps in (200, SLOWING_STEPS):
        workers = begin_all(pair, "slowing", steps=steps, module=FALLING, optimizer=SLOWING)
        all_done(workers)
    assert_fell_by_the_rates(pair, "slowing")


@pytest.mark.parametrize("optimizer", sliced(["SGD", "Momentum", "Adam", "Adagrad"], 1))
def test_async_with_one_worker_is_what_one_process_computes(
    single: Children, tmp_path: Path, optimizer: str
) -> None:
    named = {"name": optimizer, "learningRate": RATE}
    workers = begin_all(single, optimizer, steps=STEPS, optimizer=named)
    assert all_done(workers).step == STEPS
    assert_as_in_one_process(single, optimizer, STEPS, tmp_path, optimizer=optimizer)


@pytest.mark.parametrize(("update", "steps"), [("async", MANY), ("sync", 300)])
def test_the_digits_are_learnt_with_every_variable_on_a_ps(
    pair: Children, update: str, steps: int
) -> None:
    adam = {"name": "Adam", "learningRate": 0.001}
    told = {"module": DIGITS, "batch": 32, "optimizer": adam, "per_call": 10}
    workers = begin_all(pair, f"digits-{update}", update=update, steps=steps, **told)
    result = all_done(workers)
    assert result.metrics["accuracy"] >= 0.95
    assert steps <= result.step <= (steps if update == "sync" else steps + 10)
    (placement,) = workers[0].of(Placement)
    assert {device[:25] for device in placement.devices.values()} == {
        "/job:ps/replica:0/task:0/",
        "/job:ps/replica:0/task:1/",
    }
    last = workers[0].of(Progress)[-1]
    assert last.workers["0"] > 0 and last.workers["1"] > 0
    if update == "sync":
        assert last.workers == {"0": last.step, "1": last.step}
    made = sum(last.workers.values())
    assert made == (last.step if update == "async" else 2 * last.step)
    assert last.examples == made * 32


@in_turn(1, of=2)  # in-graph's is among the lost tasks
def test_async_ends_beyond_the_total_by_no_more_than_a_call_of_each_worker_but_one(
    pair: Children,
) -> None:
    """Worker 0 stands still in a call; the other makes all the steps; worker 0 ends its call."""
    per_call = 90
    first, second = begin_all(pair, "beyond", steps=MANY, per_call=per_call)
    first.wait_for(Progress, lambda one: one.step > 0)
    first.signal(signal.SIGSTOP)
    assert second.exit_code() == exit_codes.DONE, second.tail()
    first.signal(signal.SIGCONT)
    result = all_done([first])
    assert MANY <= result.step <= MANY + per_call
    assert max(pair.checkpoints("beyond")) == first.of(Progress)[-1].step == result.step
    assert learning_rates(pair, "beyond")[-1][0] == result.step


@turn(OWN_PART, of="between-graph")
def test_each_async_worker_takes_the_part_of_the_data_that_is_its_own(pair: Children) -> None:
    """When worker 0 saves, the other may be in its last call: its counters lag by that much."""
    told = {"module": OWN_WEIGHT, "optimizer": {"name": "SGD", "learningRate": 1.0}}
    workers = begin_all(pair, "parts", steps=MANY, **told)
    step = all_done(workers).step
    made = workers[0].of(Progress)[-1].workers
    assert min(made.values()) > 0
    lowered = saved(pair, "parts", step)["of/kernel"][:, 0] / -2
    assert lowered[0] == made["0"]
    assert made["1"] <= lowered[1] <= made["1"] + 7


@turn(MOVES, of="in-graph")
def test_a_run_goes_from_in_graph_to_between_graph_and_back_with_its_slots(
    single: Children, tmp_path: Path
) -> None:
    """Each start takes over the model, the count of steps, and Adam's moments."""
    adam = {"name": "Adam", "learningRate": RATE}
    with Children(tmp_path, workers=1, ps=2) as in_graph:
        in_graph.serve()
        for steps in (10, 30):
            told = {"module": FIXED, "path": HERE, "batch": BATCH, "optimizer": adam}
            chief = in_graph.chief(run_id="across", steps=steps, update="sync", **told)
            chief.wait_for(Ready)
            chief.go()
            assert chief.exit_code() == exit_codes.DONE, chief.tail()
            if steps == 10:
                move(in_graph, single, "across")
                (worker,) = begin_all(single, "across", steps=20, optimizer=adam)
                assert all_done([worker]).step == 20
                assert worker.of(Progress)[0].step == 10
                before = saved(single, "across", 10, "optimizer/")
                after = saved(single, "across", 20, "optimizer/")
                move(single, in_graph, "across")
    assert "are reset" not in worker.text() + chief.text()
    assert before.keys() == after.keys() > {"iterations", "m/out/kernel", "v/out/kernel"}
    assert (before["iterations"], after["iterations"]) == (10, 20)
    assert saved(in_graph, "across", 30, "optimizer/")["iterations"] == 30


@turn(FAULTS, of="between-graph")
def test_a_killed_worker_restarts_nobody_and_its_successor_joins(pair: Children) -> None:
    first, second = begin_all(pair, "worker", steps=ENDLESS)
    progress(first)
    second.signal(signal.SIGKILL)
    second.exit_code()
    progress(first, 100)
    begin(pair, 1, "worker", steps=ENDLESS)
    has_made_more(first, "1", 50)
    assert first.process.poll() is None


@turn(FAULTS, of="between-graph")
def test_no_round_is_applied_twice_or_in_part_when_workers_are_killed(tmp_path: Path) -> None:
    """Every weight fell by the rate in each step: no gradient was counted twice or was missing.

    The clock that rounds are numbered by falls all the time: what Python hears of it, that is.
    """
    (tmp_path / "sitecustomize.py").write_text(FALLING_CLOCK)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with Children(tmp_path, workers=2, ps=2, has_chief=False, environment=environment) as world:
        world.serve("ps")
        assert_whole_rounds(world)


def assert_whole_rounds(pair: Children) -> None:
    rate, steps = 0.5, 600
    told = {"module": FIXED.replace("Fixed", "Falling"), "update": "sync", "steps": steps}
    told["optimizer"] = {"name": "SGD", "learningRate": rate}
    first, second = begin_all(pair, "rounds", **told)
    for _ in range(3):
        progress(first)
        second.signal(signal.SIGKILL)
        second.exit_code()
        second = begin(pair, 1, "rounds", **told)
    assert all_done([first, second]).step == steps
    for name, value in saved(pair, "rounds", steps).items():
        np.testing.assert_array_equal(value, np.full(50, -rate * steps), err_msg=name)


@turn(FAULTS, of="between-graph")
def test_sync_steps_wait_for_a_lost_worker_and_say_so(pair: Children, tmp_path: Path) -> None:
    """Its gradients of half a round are not used twice: the result is the reference's."""
    named = {"name": "SGD", "learningRate": RATE}
    told = {"update": "sync", "steps": STEPS, "optimizer": named, "save_steps": 7}
    first = begin(pair, 0, "waits", **told)
    first.wait_until_it_says("waiting for worker-1")
    assert first.of(Progress)[-1].step == 0
    all_done([first, begin(pair, 1, "waits", **told)])
    assert_as_in_one_process(pair, "waits", STEPS, tmp_path, optimizer="SGD")


@turn(FAULTS, of="between-graph")
@pytest.mark.parametrize(("update", "killed"), KILLED_PS)
def test_a_killed_ps_restarts_no_worker_and_the_newest_checkpoint_goes_on(
    pair: Children, update: str, killed: int
) -> None:
    run_id = f"ps-{update}-{killed}"
    workers = begin_all(pair, run_id, update=update, steps=ENDLESS, save_steps=50)
    first = workers[0]
    first.wait_for(Saved)
    progress(first)
    ps = next(c for c in reversed(pair.children) if c.log.name.endswith(f"-ps-{killed}.log"))
    ps.end()
    pair.start("ps", killed).wait_for(Serving)
    first.wait_until_it_says("fills them again")
    restored = max(pair.checkpoints(run_id))
    reports = len(first.of(Progress))
    first.wait_for(
        Progress,
        lambda one: (
            first.of(Progress).index(one) > reports
            and one.step > restored + 50
            and one.workers["1"] > 0
        ),
    )
    assert [worker.process.poll() for worker in workers] == [None, None]
    has_made_more(first, "1", 0)


@turn(FAULTS, of="between-graph")
@pytest.mark.parametrize("update", sliced(["async", "sync"], 1))
def test_a_killed_worker_0_goes_on_from_its_checkpoint_and_the_others_with_it(
    pair: Children, update: str
) -> None:
    run_id = f"client-{update}"
    first, second = begin_all(pair, run_id, update=update, steps=ENDLESS, save_steps=50)
    first.wait_for(Saved)
    first.wait_for(Progress, lambda one: one.workers["1"] > 0)
    first.signal(signal.SIGKILL)
    first.exit_code()
    newest = max(pair.checkpoints(run_id))
    again = begin(pair, 0, run_id, update=update, steps=ENDLESS)
    assert again.wait_for(Progress).step == newest
    has_made_more(again, "0", 50)
    has_made_more(again, "1", 50)
    assert second.process.poll() is None


@pytest.mark.parametrize("update", ["async", "sync"])
def test_a_sigterm_is_42_and_worker_0_has_saved(pair: Children, update: str) -> None:
    run_id = f"stop-{update}"
    first, second = begin_all(pair, run_id, update=update, steps=ENDLESS)
    progress(first)
    second.signal(signal.SIGTERM)
    assert second.exit_code(deadline=15) == exit_codes.STOPPED, second.tail()
    first.signal(signal.SIGTERM)  # in sync it waits for the other one
    assert first.exit_code(deadline=20) == exit_codes.STOPPED, first.tail()
    (step,) = pair.checkpoints(run_id)
    assert first.of(Progress)[-1].step == step > 0


@turn(FAULTS, of="between-graph")
def test_a_stop_waits_some_seconds_for_a_ps_that_is_busy(pair: Children) -> None:
    run_id = "stop-busy"
    workers = begin_all(pair, run_id, update="sync", steps=ENDLESS)
    progress(workers[0])
    ps = next(c for c in reversed(pair.children) if c.log.name.endswith("-ps-1.log"))
    ps.signal(signal.SIGSTOP)
    for worker in workers:
        worker.signal(signal.SIGTERM)
    time.sleep(7)  # longer than the patience with a call and one look
    ps.signal(signal.SIGCONT)
    assert workers[0].exit_code(deadline=20) == exit_codes.STOPPED, workers[0].tail()
    assert len(pair.checkpoints(run_id)) == 1


@turn(FAULTS, of="between-graph")
def test_a_lost_ps_does_not_keep_a_stop_waiting(pair: Children) -> None:
    workers = begin_all(pair, "stop-ps", steps=ENDLESS)
    progress(workers[0])
    ps = next(c for c in reversed(pair.children) if c.log.name.endswith("-ps-1.log"))
    ps.end()
    workers[0].wait_until_it_says("ps-1 is lost")
    for worker in workers:
        worker.signal(signal.SIGTERM)
        assert worker.exit_code(deadline=15) == exit_codes.STOPPED, worker.tail()
    pair.start("ps", 1).wait_for(Serving)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LabelOutOfRange", "a label value of 3 which is outside the valid"),
        ("NamesAMissingFile", "missing.tfrecord; No such file"),
    ],
)
def test_an_error_of_the_program_is_the_programs(single: Children, name: str, words: str) -> None:
    worker = begin(single, 0, name, module=BROKEN + name, steps=ENDLESS)
    assert worker.exit_code() == exit_codes.CONFIG, worker.tail()
    assert words in worker.of(Failure)[-1].message


def test_rounds_and_lives_are_numbered_upwards_when_the_clock_is_set_back() -> None:
    nanoseconds = iter([5_000_000, 6_000_000, 1_000_000, 1_000_000, 1_000_000, 9_000_000])
    numbers = GenerationClock(lambda: next(nanoseconds))
    assert numbers.next() == 5_000
    assert numbers.next(above=7_000) == 7_001
    assert numbers.next() == 7_002
    assert numbers.next(above=3) == 7_003
    numbers.used(8_000)
    assert numbers.next() == 8_001
    assert numbers.next() == 9_000


def test_variables_are_spread_by_their_bytes() -> None:
    shapes = [(4, 4), (4,), (4,), (2, 4), (1,)]
    specs = [TensorSpec(shape, "float32") for shape in shapes]
    assert ps_variables.spread(specs, 2) == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("WithTable", "use a table, which between-graph"),
        ("RaisesWhileTraining", "Cannot reshape a tensor with 8 elements to shape [7,7]"),
    ],
)
def test_a_step_that_can_not_be_traced_ends_a_worker_before_go(
    tmp_path: Path, name: str, words: str
) -> None:
    with make(tmp_path, 1) as lonely:
        worker = start(lonely, 0, "1", module=f"{BROKEN}{name}")
        assert worker.exit_code() == exit_codes.CONFIG
        assert not worker.of(Ready)
        assert words in worker.of(Failure)[0].message
