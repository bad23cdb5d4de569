"""Two thousand schedules, and each that ever broke something."""

from __future__ import annotations

import pytest

from tests.slices import slice_number

from .world import World

SCHEDULES, BATCHES = 2000, 20
# Seeds that broke an invariant once. What each found is in docs/decisions/0014-simulation.md.
EVER = (45, 290, 554, 657, 713, 723, 914, 986, 1121, 1276, 1584, 2273)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_invariant_breaks(batch: int) -> None:
    each = SCHEDULES // BATCHES
    first = slice_number() % 1_000_000 * SCHEDULES + batch * each
    for seed in range(first, first + each):
        World.drawn(seed).run()


@pytest.mark.parametrize("seed", EVER)
def test_a_schedule_that_broke_something_holds(seed: int) -> None:
    World.drawn(seed).run()


def test_a_schedule_is_the_same_each_time() -> None:
    stories = []
    for _ in range(2):
        world = World.drawn(7)
        world.run()
        stories.append(world.engine.story)
    assert stories[0] == stories[1]
