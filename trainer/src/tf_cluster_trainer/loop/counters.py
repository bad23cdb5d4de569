"""The counters of the workers' steps, as the chief reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingCounters:
    """Steps (applied updates) and examples of the run, and each worker's steps since it began.

    The sums of loss and metrics cover the `steps_since_start`, including those that were lost with
    a ps. `origin_step` is the step at which the present state began.
    """

    step: int
    examples: int
    worker_steps: Mapping[str, int]
    steps_since_start: int
    loss_sum: float
    metric_sums: Mapping[str, float]
    origin_step: int
