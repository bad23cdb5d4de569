"""What the workers have done so far, as the chief reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    """Steps made by each worker since the run began, sums of loss and metrics since this start.

    `counted` is the number of steps in the sums.
    """

    workers: Mapping[str, int]
    counted: int
    loss_sum: float
    metric_sums: Mapping[str, float]

    @property
    def step(self) -> int:
        """Steps of the run, all workers together."""
        return sum(self.workers.values())
