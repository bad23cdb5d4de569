"""Rules that are broken on purpose, and the schedules in which that has to be noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.rules import (
    arrivals,
    chief,
    chief_child,
    chief_run,
    election,
    farewell,
    final_state,
    follower,
    follower_chief,
    follower_child,
    gate,
    restart,
    visits,
)
from tf_cluster_trainer.supervisor.rules.actions import LookAtRun, Say
from tf_cluster_trainer.supervisor.rules.chief_child import on_standing
from tf_cluster_trainer.supervisor.rules.chief_gate import advance
from tf_cluster_trainer.supervisor.rules.chief_turn import Turn as ChiefsTurn
from tf_cluster_trainer.supervisor.rules.follower_turn import Turn
from tf_cluster_trainer.supervisor.rules.standing import Owning, Standing
from tf_cluster_trainer.supervisor.rules.visits import Visits
from tf_cluster_trainer.supervisor.status.document import Document

from . import chief_pod, children, scenarios
from .schedule import Focus
from .world import World

MOST = 300  # schedules that are drawn until a mutant is found


@dataclass(frozen=True)
class Mutant:
    """`breaks` breaks a rule; `found_in`: a schedule that is written out, or what is drawn."""

    name: str
    breaks: Callable[[pytest.MonkeyPatch], None]
    found_in: Callable[[World], None] | Focus


def _nothing(*_: object) -> None:
    """Instead of what a rule does."""


def _nobody_came_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arrivals, "order", lambda *_: 0)


def _alone_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chief, "end_when_alone", _nothing)


def _refused_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(farewell, "FINAL_AGAIN", math.inf)


def _takes_blindly(patch: pytest.MonkeyPatch) -> None:
    """Either of the two that are taken out here is enough; each has a unit test of its own."""
    ordered = election.Election._order

    def take(self: Any, owner: Owner, over: object) -> Generator[Any, Any, Any]:
        taken = replace(owner, counter=owner.counter + 1, released=False)
        yield election.ReplaceOwner(taken, over=None)
        return (yield from self._checked())

    def order(self: Any, job_uid: str) -> Generator[Any, Any, int]:
        return 0 if self.owning else (yield from ordered(self, job_uid))

    patch.setattr(election.Election, "_take", take)
    patch.setattr(election.Election, "_order", order)


def _lease(periods: int) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(election, "LEASE_PERIODS", periods)


def _any_jobs_end(patch: pytest.MonkeyPatch) -> None:
    def ends(document: Mapping[str, Any], attempt: str, *_: object, **__: object) -> bool:
        return document.get("final") is True and document.get("attempt") == attempt

    patch.setattr(follower_chief, "ends", ends)
    assert final_state.ends is not ends


def _gate_without_epoch(patch: pytest.MonkeyPatch) -> None:
    missing = gate.missing

    def without(peers: Any, seen: Any, attempt: str, epoch: str, _: object) -> Any:
        return missing(peers, seen, attempt, epoch, None)

    patch.setattr(gate, "missing", without)


def _no_kill(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chief_child, "_kill_for", _nothing)


def _epoch_without_a_new_server(patch: pytest.MonkeyPatch) -> None:
    def keep(turn: Turn, epoch: str, status: object) -> None:
        if turn.follower.bound and turn.child.alive and turn.child.epoch != epoch:
            turn.do(Say("takes the epoch"))
            turn.change_child(epoch=epoch)
            turn.show()

    patch.setattr(follower_chief, "_keep_epoch", keep)


def _never_killed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chief, "kill_when_due", _nothing)


def _looks_at_an_open_gate(patch: pytest.MonkeyPatch) -> None:
    """As it was: at the run as the owner before left it a chief looked when all were there."""

    def standing_elsewhere(turn: ChiefsTurn, standing: Standing) -> None:
        on_standing(turn, standing)
        turn.actions[:] = [action for action in turn.actions if not isinstance(action, LookAtRun)]

    def looking(turn: ChiefsTurn) -> None:
        advance(turn)
        child, state = turn.state.child, turn.state
        there = child is not None and child.absent_since is None and not child.begun
        if there and state.ending is None and isinstance(state.standing, Owning):
            turn.do(LookAtRun())

    patch.setattr(chief, "on_standing", standing_elsewhere)
    patch.setattr(chief, "advance", looking)


def _nothing_is_restored(patch: pytest.MonkeyPatch) -> None:
    """No rule of a supervisor, but what the strategies promise them: the invariant sees it."""

    def take_back(self: Any, gone: list[str]) -> None:
        self._met.update({name: self.world.server(self.attempt, name) for name in gone})

    patch.setattr(children.Trainer, "_take_back", take_back)


def _hands_nothing_over(patch: pytest.MonkeyPatch) -> None:
    def successor(*_: object) -> Generator[Any, Any, None]:
        yield from ()

    patch.setattr(election.Election, "_other_successor", successor)


def _asks_no_owner(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(election, "ASKED_PERIODS", math.inf)


def _bounds_no_restarts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(restart.Budget, "after_one", lambda budget: budget)


def _finishes_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chief_run, "was_cut_off", lambda _: False)
    patch.setattr(final_state, "was_cut_off", lambda _: False)


def _waits_without_a_word(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(follower, "_without_word", _nothing)


def _keeps_no_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(follower_chief, "_keep_epoch", _nothing)


def _is_never_through(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(follower_child, "_is_through", lambda *_: False)


def _learns_to_the_end(patch: pytest.MonkeyPatch) -> None:
    real = visits.with_job

    def with_job(document: Document, asked: Visits, own_task: str, visitor: str) -> Document:
        if visitor.startswith("evaluator-"):
            return replace(document, evaluator_uid=asked.jobs[visitor][0])
        return real(document, asked, own_task, visitor)

    patch.setattr(chief_pod, "with_job", with_job)


def _learns_while_it_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(visits.Visits, "before_the_end", lambda its: its)


def _learns_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(visits, "NEWCOMER_SECONDS", 0.0)


MUTANTS = (
    Mutant(
        "who came first counts for nothing",
        _nobody_came_first,
        scenarios.an_earlier_attempt_that_was_late_comes_to_a_later_one_that_trains,
    ),
    Mutant(
        "a chief without workers waits for ever",
        _alone_for_ever,
        scenarios.a_job_of_workers_fails_for_good_while_an_asynchronous_chief_trains,
    ),
    Mutant(
        "a final state that the disk refused is not written again",
        _refused_once,
        scenarios.a_disk_refuses_a_final_state_that_an_evaluator_comes_late_for,
    ),
    Mutant(
        "the run is taken over whatever lies there",
        _takes_blindly,
        scenarios.two_attempts_take_a_released_run_and_the_earlier_ones_disk_is_slow,
    ),
    Mutant(
        "a new owner looks at the run when all are there",
        _looks_at_an_open_gate,
        scenarios.a_run_is_done_while_a_later_attempts_gate_is_shut,
    ),
    Mutant(
        "a lease ends after one period",
        _lease(1),
        scenarios.an_owner_saves_for_long_and_can_not_renew,
    ),
    Mutant("an owner that does not renew is not asked", _asks_no_owner, Focus(upgrades=1.0)),
    Mutant(
        "an owner hands nothing over",
        _hands_nothing_over,
        scenarios.a_later_attempt_waits_for_the_run,
    ),
    Mutant("a chief starts a child without end", _bounds_no_restarts, Focus()),
    Mutant(
        "what was cut off before its export is done",
        _finishes_nothing,
        scenarios.a_chief_is_lost_between_its_last_checkpoint_and_its_export,
    ),
    Mutant("a task waits for ever for a chief without a word", _waits_without_a_word, Focus()),
    Mutant("a task keeps to no epoch", _keeps_no_epoch, Focus()),
    Mutant(
        "a worker that is done is started again",
        _is_never_through,
        Focus(combination=scenarios.ALL_REDUCE),
    ),
    Mutant("a lease has no length", _lease(0), Focus(upgrades=1.0)),
    Mutant(
        "a final state in the file ends the tasks of another Job",
        _any_jobs_end,
        scenarios.the_same_attempt_is_installed_again_after_its_data_was_mended,
    ),
    Mutant(
        "a final state is that of whichever evaluator asks",
        _learns_to_the_end,
        scenarios.an_evaluator_asks_the_chief_of_the_attempt_before_of_the_same_name,
    ),
    Mutant(
        "a chief that ends learns of other Jobs",
        _learns_while_it_ends,
        scenarios.an_evaluator_comes_to_a_chief_of_the_same_name_that_saves_and_ends,
    ),
    Mutant(
        "an evaluator's first question makes it the chief's",
        _learns_at_once,
        scenarios.an_evaluator_comes_to_a_chief_of_the_same_name_a_moment_before_that_fails,
    ),
    Mutant(
        "the gate opens without the ps' epoch",
        _gate_without_epoch,
        scenarios.a_ps_hears_of_the_chiefs_new_child_by_its_question_alone,
    ),
    Mutant(
        "a ps takes an epoch and keeps the variables of the one before",
        _epoch_without_a_new_server,
        Focus(combination=scenarios.ASYNC, faults=("child",), upgrades=0.0),
    ),
    Mutant(
        "a chief's child is not killed for a ps that was replaced",
        _no_kill,
        scenarios.a_ps_is_gone_with_its_node_and_its_successor_comes,
    ),
    Mutant(
        "a chief's script is not killed for a worker that was replaced",
        _no_kill,
        scenarios.a_script_waits_for_a_worker_that_was_replaced,
    ),
    Mutant(
        "a ps that came back empty is trained on",
        _nothing_is_restored,
        Focus(combination=scenarios.BETWEEN, faults=("process", "child"), upgrades=0.0),
    ),
    Mutant("a child that heeds no SIGTERM is not killed", _never_killed, Focus(upgrades=1.0)),
)
