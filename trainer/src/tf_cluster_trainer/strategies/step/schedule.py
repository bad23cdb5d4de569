"""The learning rate at a step of the run. The one place that has the formula.

It works on numbers (with NumPy's functions) and on tensors of a graph (with TensorFlow's), so the
reported rate is the applied one. It imports neither, because the supervisor also reads settings.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from tf_cluster_trainer.config import Optimizer, Schedule


class Functions(Protocol):
    """The functions that the formula needs; the modules numpy and tensorflow have them."""

    minimum: Any
    maximum: Any
    cos: Any


def rate(optimizer: Optimizer, step: Any, functions: Functions) -> Any:
    """The learning rate of the next update after `step` updates.

    `step` is a float, or a scalar floating-point tensor; so is the result.
    """
    schedule = optimizer.schedule
    if schedule is None:
        return optimizer.learning_rate
    after_warmup = functions.maximum(step - schedule.warmup_steps, 0.0)
    part = functions.minimum(after_warmup / schedule.decay_steps, 1.0)
    factor = _decayed(schedule, part, functions)
    if schedule.warmup_steps:
        factor = factor * functions.minimum(step / schedule.warmup_steps, 1.0)
    return optimizer.learning_rate * factor


def _decayed(schedule: Schedule, part: Any, functions: Functions) -> Any:
    """The factor of the full rate after this part of the decay: 1 at 0, the end factor at 1."""
    end = schedule.end_factor
    if schedule.name == "constant":
        return 1.0
    if schedule.name == "linear":
        return 1.0 - (1.0 - end) * part
    if schedule.name == "cosine":
        return end + (1.0 - end) * (1.0 + functions.cos(math.pi * part)) / 2.0
    if schedule.name == "exponential":
        return end**part
    raise ValueError(f"schedule {schedule.name}")  # the schema's enum says which there are
