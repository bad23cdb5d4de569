"""How often `submit` looks whether its pods have been made."""

from __future__ import annotations

import pytest
from tf_cluster.cluster.submitting import Made, next_pause

PODS = 1250


def looks_at(rate: float, begins: float = 0.0) -> list[float]:
    """When it would look, at pods that are made at a rate from a moment on, to the last look."""
    looks, now, pause = [0.0], 0.0, 1.0
    while (there := min(PODS, int(rate * max(now - begins, 0)))) < PODS:
        pause = next_pause([Made(there, PODS), Made(0, 1)], now, pause)
        now += pause
        looks.append(now)
    return looks


@pytest.mark.parametrize("begins", [0.0, 10.0])
@pytest.mark.parametrize("rate", [15, 20, 50, 500, 5000])
def test_few_looks_do_and_the_last_is_not_late(rate: float, begins: float) -> None:
    looks = looks_at(rate, begins)
    assert len(looks) <= 9
    assert looks[-1] <= 1.5 * (begins + PODS / rate) + 3


def test_pods_that_never_come_are_looked_for_twice_a_minute_at_most() -> None:
    pause = 1.0
    for _ in range(9):
        pause = next_pause([Made(0, 5)], 100.0, pause)
    assert pause == 30.0
