"""The point that a start resumes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ResumePoint:
    """The checkpoint's step, examples and steps by worker index; all 0 for a new run.

    `updates` is the optimizer's iteration count (bias correction). It is 0 after a reset of the
    slots. It may exceed `step`: async calls in flight at the save had already applied updates.
    """

    step: int = 0
    examples: int = 0
    worker_steps: Mapping[str, int] = field(default_factory=dict)
    updates: int = 0

    @property
    def optimizer_lag(self) -> int:
        """The run's step minus the optimizer's count; each update adds one to both."""
        return self.step - self.updates

    def plus(self, made: Mapping[str, int]) -> dict[str, int]:
        """Each worker's steps plus those made since; workers that no longer exist keep theirs."""
        return {
            name: self.worker_steps.get(name, 0) + made.get(name, 0)
            for name in sorted({*self.worker_steps, *made}, key=int)
        }
