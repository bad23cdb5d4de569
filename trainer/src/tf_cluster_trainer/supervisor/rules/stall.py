"""Workers of an asynchronous run that were replaced and have made no step since.

That alone is nothing: the child takes them back, and others go on. But when nobody makes a step the
child waits for a server that is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Replaced:
    """Which workers were replaced, and when a step was heard of last (monotonic seconds)."""

    least_patience: float
    moved_at: float
    noted_at: float
    longest: float = 0.0  # seconds between two steps that were heard of
    stepping: bool = False
    made: Mapping[str, int] | None = None
    since: Mapping[str, int] = field(default_factory=dict)  # a task's steps when it was replaced

    @classmethod
    def nobody(cls, patience: float, now: float) -> Replaced:
        """`patience`: seconds without any step, at least."""
        return cls(patience, now, now)

    def note(self, task: str, now: float) -> Replaced:
        """`worker-1` was replaced just now: from now on the child can take it back."""
        return replace(self, since={**self.since, task: self._of(task)}, noted_at=now)

    def hear(self, made: Mapping[str, int], now: float) -> Replaced:
        """Steps of each worker, by its index, as the child reports them."""
        heard = self
        if made != self.made:
            longest = max(self.longest, now - self.moved_at) if self.stepping else self.longest
            # The first report has no step, and the first step comes after loading and compiling.
            heard = replace(
                self,
                longest=longest,
                stepping=self.made is not None,
                made=dict(made),
                moved_at=now,
            )
        since = {task: steps for task, steps in heard.since.items() if heard._of(task) == steps}
        return replace(heard, since=since)

    def overdue(self, now: float) -> list[str]:
        """The tasks that hold up everything; none while steps are made."""
        if now - max(self.moved_at, self.noted_at) < self.patience:
            return []
        return sorted(self.since)

    @property
    def patience(self) -> float:
        """Seconds without any step, after which it is not waited any longer.

        A training whose calls are long has shown that it may take that long.
        """
        return max(self.least_patience, 2 * self.longest)

    def _of(self, task: str) -> int:
        return (self.made or {}).get(task.partition("-")[2], 0)
