"""The counters of a chief's supervisor over its pod's life, only for /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tf_cluster_trainer.protocol import Saved, Way


@dataclass(frozen=True)
class Counts:
    """Checkpoints written and their total seconds, by their way; losses by the lost task's name.

    `checkpoint_bytes` are those of the newest one, `ps_bytes` those of the state on each ps.
    """

    checkpoints: Mapping[Way, tuple[int, float]] = field(default_factory=dict)
    checkpoint_bytes: int | None = None
    ps_bytes: Mapping[str, int] = field(default_factory=dict)
    losses: Mapping[str, int] = field(default_factory=dict)

    def saved(self, message: Saved) -> Counts:
        """Add one checkpoint."""
        count, seconds = self.checkpoints.get(message.way, (0, 0.0))
        added = {message.way: (count + 1, seconds + message.seconds)}
        return replace(
            self,
            checkpoints={**self.checkpoints, **added},
            checkpoint_bytes=message.size,
        )

    def lost(self, tasks: Iterable[str]) -> Counts:
        """Add one loss of each of these tasks."""
        losses = dict(self.losses)
        for task in tasks:
            losses[task] = losses.get(task, 0) + 1
        return replace(self, losses=losses)


NOTHING_COUNTED = Counts()
