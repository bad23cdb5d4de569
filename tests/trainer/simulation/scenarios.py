"""Schedules that are written out, event by event: what each guards is in its docstring.

They are run without chance (engine.Steady), so nothing that is drawn elsewhere changes them. Each
is here because something broke in it once, or because a rule was made for it, and has its mutant in
mutants.py, with which it breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import COMBINATIONS
from tf_cluster_trainer.supervisor.rules.election import ReplaceOwner

from .attempt import Attempt, changed
from .pods import Pod
from .world import World

ASYNC, SYNC, BETWEEN, _, ALL_REDUCE = COMBINATIONS


def _attempt(**changes: Any) -> Attempt:
    usual: dict[str, Any] = {
        "name": "a1",
        "combination": ASYNC,
        "workers": 2,
        "ps": 1,
        "total": 500,
        "restarts": 3,
        "deadline": 40.0,
        "evaluator": False,
        "backoff": 20,
    }
    return Attempt(**{**usual, **changes})


def _at(world: World, seconds: float, do: Callable[[], None]) -> None:
    world.engine.after(seconds, do)


def an_earlier_attempt_that_was_late_comes_to_a_later_one_that_trains(world: World) -> None:
    """It took the run, and when it was removed nobody trained."""
    first = _attempt()
    world.late["a1", "ps-0"] = 40.0  # it has no node
    world.install(first)
    _at(world, 15.0, lambda: world.install(changed(first, "a2", number=2, total=2000)))
    _at(world, 90.0, lambda: world.remove(first))


def a_job_of_workers_fails_for_good_while_an_asynchronous_chief_trains(world: World) -> None:
    """The chief stood still for ever."""
    first = _attempt()
    world.install(first)
    _at(world, 20.0, lambda: world.fail_for_good(first.jobs["worker"]))


def a_disk_refuses_a_final_state_that_an_evaluator_comes_late_for(world: World) -> None:
    """It was never written again, the evaluator waited in vain, and its Job failed."""

    def break_the_disk() -> None:
        world.disk.broken_until = world.engine.now + 4.0

    world.when_ended = break_the_disk
    world.late["a1", "evaluator-0"] = 150.0
    world.install(_attempt(total=200, evaluator=True))


def two_attempts_take_a_released_run_and_the_earlier_ones_disk_is_slow(world: World) -> None:
    """Its file came down on that of the later one, which ended for good."""
    first = _attempt(total=60)
    world.install(first)
    second, third = (changed(first, f"a{n}", number=n, total=2000) for n in (2, 3))

    def holds_up(pod: Pod, operation: object) -> float:
        takes = isinstance(operation, ReplaceOwner)
        return 10.0 if takes and pod.job.attempt is second else 0.0

    world.holds_up = holds_up

    def both() -> None:
        world.install(second)
        _at(world, 0.3, lambda: world.install(third))
        _at(world, 60.0, lambda: world.remove(second))

    _at(world, 80.0, both)


def a_run_is_done_while_a_later_attempts_gate_is_shut(world: World) -> None:
    """Its worker has read that, and ended; the chief had the run, and waited for the worker."""
    first = _attempt(total=200)
    second = changed(first, "a2", number=2)
    world.saves_for_long = True
    world.install(first)
    _at(world, 28.0, lambda: world.install(second))

    def cut_off() -> None:
        chief = world.named(second, "chief-0")
        assert chief is not None
        world.cuts.append((None, chief, world.engine.now + 20.0))
        world.when_ended = lambda: None

    world.when_ended = cut_off


def a_later_attempt_waits_for_the_run(world: World) -> None:
    """The owner is far from its total: it saves, and hands the run over."""
    first = _attempt(total=10000)
    world.install(first)
    _at(world, 20.0, lambda: world.install(changed(first, "a2", number=2)))

    def look() -> None:
        owner = world.disk.owner
        if owner is None or owner.attempt != "a2":
            world.break_off(f"a2 waits for the run of {owner}")

    _at(world, 120.0, look)


def a_chief_is_lost_between_its_last_checkpoint_and_its_export(world: World) -> None:
    """Another one makes up for that, though no step is left to make."""

    def lose_it(pod: Pod, step: int) -> None:
        if step == 200:
            world.when_written = lambda pod, step: None
            pod.vanish("killed")

    world.when_written = lose_it
    world.install(_attempt(total=200))


def an_evaluator_asks_the_chief_of_the_attempt_before_of_the_same_name(world: World) -> None:
    """That one still serves its end: it is not this evaluator's."""
    first = _attempt(evaluator=True, total=1000)
    again = changed(first, "a1", number=3)
    world.install(first)
    _at(world, 15.0, lambda: world.install(changed(first, "a2", number=2)))

    def come_back() -> None:
        world.when_ended = lambda: None
        for task in ("worker-0", "worker-1"):
            worker = world.named(first, task)
            assert worker is not None
            worker.unheard_until = world.engine.now + 60.0  # the chief waits for them
        _at(world, 2.0, lambda: world.install(again))
        _at(world, 12.0, lambda: world.remove(first))

    world.when_ended = come_back


def an_evaluator_comes_to_a_chief_of_the_same_name_that_saves_and_ends(world: World) -> None:
    """It became that one's, and ended with it before its own chief had begun."""
    first = _attempt(evaluator=True, total=2000)
    world.saves_for_long = True
    world.install(first)
    _at(world, 30.0, lambda: world.install(changed(first, "a2", number=2)))
    _at(world, 48.0, lambda: world.install_again(first))


def an_evaluator_comes_to_a_chief_of_the_same_name_a_moment_before_that_fails(
    world: World,
) -> None:
    """Its first question made it that one's."""
    first = _attempt(evaluator=True)
    world.install(first)

    def install_again() -> None:
        first.jobs["evaluator"].deleted = True
        world.stop_pods(first.jobs["evaluator"])
        world.install(changed(first, "a1", number=2))

    def fail() -> None:
        chief = world.named(first, "chief-0")
        assert chief is not None and chief.child is not None
        chief.child.end(exit_codes.CONFIG, "the data has no column b")

    _at(world, 20.0, install_again)
    _at(world, 25.0, fail)
    _at(world, 30.0, lambda: world.remove(first))


def an_owner_saves_for_long_and_can_not_renew(world: World) -> None:
    """It answers, so the run is not to be taken from it."""
    first = _attempt(total=2000)
    world.saves_for_long = True
    world.install(first)
    _at(world, 30.0, lambda: world.install(changed(first, "a2", number=2)))


def the_same_attempt_is_installed_again_after_its_data_was_mended(world: World) -> None:
    """The final state that lies there is another Job's."""
    first = _attempt()
    world.broken_data.add("a1")
    world.install(first)
    _at(world, 60.0, lambda: world.install_again(first))


def a_ps_hears_of_the_chiefs_new_child_by_its_question_alone(world: World) -> None:
    """It still has the variables of the child before."""
    first = _attempt()
    world.install(first)

    def lose_the_child() -> None:
        chief, ps = world.named(first, "chief-0"), world.named(first, "ps-0")
        assert chief is not None and chief.child is not None and ps is not None
        ps.unheard_until = world.engine.now + 60.0
        chief.child.kill()

    _at(world, 20.0, lose_the_child)


def a_ps_is_gone_with_its_node_and_its_successor_comes(world: World) -> None:
    """The chief's child waits for the one before, which closed no connection."""
    first = _attempt(combination=SYNC)
    world.install(first)

    def lose_the_node() -> None:
        ps = world.named(first, "ps-0")
        assert ps is not None
        world.lose_node(ps)

    _at(world, 20.0, lose_the_node)


def a_script_waits_for_a_worker_that_was_replaced(world: World) -> None:
    """A script notices nothing by itself."""
    first = _attempt(combination=ALL_REDUCE, script=True)
    world.install(first)

    def lose_the_process() -> None:
        worker = world.named(first, "worker-1")
        assert worker is not None
        world.lose(worker, 1)

    _at(world, 30.0, lose_the_process)
