"""What the workers have done so far, as the chief reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingCounters:
    """Steps (applied updates) and examples of the run, steps made by each worker since it began.

    The sums of loss and metrics are over the `steps_since_start`, those of them too that were lost
    with a ps. `origin_step` is the step that the state as it is now began at.
    """

    step: int
    examples: int
    worker_steps: Mapping[str, int]
    steps_since_start: int
    loss_sum: float
    metric_sums: Mapping[str, float]
    origin_step: int
