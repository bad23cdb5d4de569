"""The counters of a chief's supervisor over its pod's life, only for /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Counts:
    """Checkpoints written and their total seconds; losses by the lost task's name."""

    checkpoints: int = 0
    checkpoint_seconds: float = 0.0
    losses: Mapping[str, int] = field(default_factory=dict)

    def saved(self, seconds: float) -> Counts:
        """Add one checkpoint."""
        return replace(
            self,
            checkpoints=self.checkpoints + 1,
            checkpoint_seconds=self.checkpoint_seconds + seconds,
        )

    def lost(self, tasks: Iterable[str]) -> Counts:
        """Add one loss of each of these tasks."""
        losses = dict(self.losses)
        for task in tasks:
            losses[task] = losses.get(task, 0) + 1
        return replace(self, losses=losses)


NOTHING_COUNTED = Counts()
