"""Two thousand schedules that are drawn, those that are written out, and rules that are broken."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from tests.slices import slice_number

from . import scenarios
from .mutants import MOST, MUTANTS, Mutant
from .schedule import Focus
from .world import BrokenError, World

SCHEDULES, BATCHES = 1000, 10
WRITTEN_OUT = {
    mutant.found_in.__name__: mutant.found_in
    for mutant in MUTANTS
    if not isinstance(mutant.found_in, Focus)
}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_invariant_breaks(batch: int) -> None:
    each = SCHEDULES // BATCHES
    first = slice_number() % 1_000_000 * SCHEDULES + batch * each
    for seed in range(first, first + each):
        World.drawn(seed).run()


def test_every_schedule_that_is_written_out_has_a_rule_that_breaks_it() -> None:
    written = {
        name
        for name, value in vars(scenarios).items()
        if inspect.isfunction(value)
        and value.__module__ == scenarios.__name__
        and not name.startswith("_")
    }
    assert written == set(WRITTEN_OUT)


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_a_schedule_that_broke_something_holds(name: str) -> None:
    World.of(WRITTEN_OUT[name]).run()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_rule_that_is_broken_breaks_a_schedule(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant.breaks(monkeypatch)
    with pytest.raises(BrokenError):
        _run(mutant.found_in)


def _run(found_in: Callable[[World], None] | Focus) -> None:
    if not isinstance(found_in, Focus):
        World.of(found_in).run()
        return
    for seed in range(MOST):
        World.drawn(seed, found_in).run()


def test_a_schedule_is_the_same_each_time() -> None:
    stories = []
    for _ in range(2):
        world = World.drawn(7)
        world.run()
        stories.append(world.engine.story)
    assert stories[0] == stories[1]
