"""For how long an attempt's chief was not heard of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Of the time between two looks at a silence no more than this counts: a task looks twice a second.
# What is beyond that it was stopped in (a paused container, Ctrl-Z) and could hear nobody.
LONGEST_ROUND = 2.0


def stopped_for(looked: float, now: float) -> float:
    """Of the seconds since the last look those in which this task was stopped."""
    return max(0.0, now - looked - LONGEST_ROUND)


@dataclass(frozen=True)
class Silence:
    """Of one attempt's chief, as one of its tasks hears of it. Times are monotonic seconds.

    An answer of it is a sign of life, and so is its question; of progress.json, which stays when
    the chief is gone, only what has changed.
    """

    attempt: str
    last: float | None = None
    looked: float = 0.0
    in_file: Mapping[str, Any] | None = None

    def begun(self, now: float) -> Silence:
        """The chief is asked from now on: the silence before does not count."""
        return self if self.last is not None else replace(self, last=now, looked=now)

    def heard(self, chief: Mapping[str, Any], now: float, *, from_file: bool) -> Silence:
        """Hear the chief's document; another attempt's says nothing of ours."""
        if chief.get("attempt") != self.attempt:
            return self
        last = self.last
        if last is not None and not (from_file and chief == self.in_file):
            last = now
        return replace(self, last=last, in_file=chief if from_file else self.in_file)

    def looked_at(self, now: float) -> Silence:
        """To be called again and again: what this task was stopped in is no silence."""
        if self.last is None:
            return self
        stopped = stopped_for(self.looked, now)
        return replace(self, looked=now, last=min(now, self.last + stopped))

    def seconds(self, now: float) -> float:
        """Seconds without a sign of life in which this task ran; 0 before the chief is asked."""
        return 0.0 if self.last is None else now - self.last
