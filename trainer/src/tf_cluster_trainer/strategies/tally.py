"""What the workers have done so far, as the chief reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Origin:
    """Where a start goes on from: the checkpoint's step, examples and steps of each worker.

    `updates` is the optimizer's own count there, by which it corrects the bias of its slots. It
    is 0 when they start afresh, and more than the step by what async workers did in calls whose
    end the checkpoint did not see.
    """

    step: int = 0
    examples: int = 0
    workers: Mapping[str, int] = field(default_factory=dict)
    updates: int = 0

    @property
    def ahead(self) -> int:
        """How far the run's step is ahead of the optimizer's count; both then rise by one."""
        return self.step - self.updates

    def plus(self, made: Mapping[str, int]) -> dict[str, int]:
        """Each worker's steps with those made since; workers that are no more keep theirs."""
        return {
            name: self.workers.get(name, 0) + made.get(name, 0)
            for name in sorted({*self.workers, *made}, key=int)
        }


@dataclass(frozen=True)
class Tally:
    """Steps (applied updates) and examples of the run, steps made by each worker since it began.

    The sums of loss and metrics are over the `counted` steps since this start, those of them too
    that were lost with a ps. `began` is the step that the state as it is now began at.
    """

    step: int
    examples: int
    workers: Mapping[str, int]
    counted: int
    loss_sum: float
    metric_sums: Mapping[str, float]
    began: int
