"""The run directory: what lies in it, and how slow or broken it is."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tf_cluster_trainer.run_directory.owner import Owner, Successor

from .engine import Engine


@dataclass(frozen=True)
class Accidents:
    """How likely somebody is lost between two operations, and how that is done."""

    likely: float
    happen: Callable[[], None]


@dataclass
class Disk:
    """One run directory, shared by every attempt. Who writes a checkpoint is kept in order."""

    engine: Engine
    slow_until: float = -1.0
    accidents: Accidents | None = None
    broken_until: float = -1.0
    owner: Owner | None = None
    successor: Successor | None = None
    progress: dict[str, Any] | None = None
    checkpoint: int | None = None
    exported: int = -1  # the step of the model that was exported last
    arrivals: dict[int, str] = field(default_factory=dict)
    writers: list[tuple[str, int]] = field(default_factory=list)  # of checkpoints: Job, step

    def mend(self) -> None:
        """No accident happens from now on."""
        self.accidents = None

    def check(self) -> None:
        """Raise what a disk that is broken now raises."""
        if self.engine.now < self.broken_until:
            raise OSError(errno.EIO, "the disk is broken")

    def seconds(self, slow: bool = False) -> float:
        """How long the next flush takes."""
        if slow or self.engine.now < self.slow_until:
            return self.engine.chance.uniform(0.5, 15.0)
        return self.engine.chance.uniform(0.001, 0.05)

    def write(
        self, do: Callable[[], None], failed: Callable[[], None], *, slow: bool = False
    ) -> float:
        """Flush, then `do`, or `failed` where the disk is broken by then; the seconds it takes."""
        seconds = self.seconds(slow)
        if self.accidents and self.engine.chance.random() < self.accidents.likely:
            self.engine.soon(0.0, seconds, self.accidents.happen)

        def end() -> None:
            if self.engine.now < self.broken_until:
                failed()
            else:
                do()

        self.engine.after(seconds, end)
        return seconds

    def owned_by(self, job: str, pod: str) -> bool:
        """Whether this pod is the run's writer now."""
        return self.owner is not None and (self.owner.job_uid, self.owner.pod_uid) == (job, pod)
