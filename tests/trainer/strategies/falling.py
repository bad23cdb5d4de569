"""A program whose gradient is always 1, trained at a rate that falls to a hundredth."""

from __future__ import annotations

import numpy as np
import pytest
from tf_cluster_trainer.config import Optimizer, Schedule
from tf_cluster_trainer.strategies.step import schedule

from tests.support.children import Children
from tests.support.trainings import learning_rates, saved

FALLING = "tests.trainer.child.programs.fixed:Falling"
SLOWING_STEPS = 400
SLOWING = {
    "name": "SGD",
    "learningRate": 1.0,
    "schedule": {"name": "exponential", "endFactor": 0.01, "decaySteps": SLOWING_STEPS},
}


def assert_fell_by_the_rates(world: Children, run_id: str) -> None:
    """Every weight fell by the sum of the rates of the run's steps, and the last one is reported.

    Workers that read the count at the same time make steps of one rate: 3 % of the sum.
    """
    step = max(world.checkpoints(run_id))
    assert SLOWING_STEPS <= step <= SLOWING_STEPS + 7  # a call of one worker beyond the total
    optimizer = Optimizer("SGD", 1.0, None, Schedule("exponential", SLOWING_STEPS, 0.01, 0))
    expected = -sum(schedule.rate(optimizer, at, np) for at in range(step))
    for name, value in saved(world, run_id, step).items():
        np.testing.assert_allclose(value, np.full(50, expected), rtol=0.03, err_msg=name)
    assert learning_rates(world, run_id)[-1] == (step, pytest.approx(0.01))
