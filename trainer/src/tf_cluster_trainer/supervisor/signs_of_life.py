"""When an attempt's chief was last heard of."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

# Of the time between two looks at a silence no more than this counts: a task looks twice a second.
# What is beyond that it was stopped in (a paused container, Ctrl-Z) and could hear nobody.
_LONGEST_ROUND = 2.0


class SignsOfLife:
    """Of one attempt's chief, as one of its tasks hears of it.

    An answer of it is a sign of life, and so is its question; of progress.json, which stays when
    the chief is gone, only what has changed.
    """

    def __init__(self, attempt: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._attempt = attempt
        self._clock = clock
        self._last: float | None = None
        self._looked = 0.0
        self._in_file: Mapping[str, Any] | None = None

    def begin(self) -> None:
        """The chief is asked from now on: the silence before does not count."""
        if self._last is None:
            self._last = self._looked = self._clock()

    def note(self, chief: Mapping[str, Any], *, from_file: bool) -> None:
        """Hear the chief's document; another attempt's says nothing of ours."""
        if chief.get("attempt") != self._attempt:
            return
        if self._last is not None and not (from_file and chief == self._in_file):
            self._last = self._clock()
        if from_file:
            self._in_file = chief

    def silent_for(self) -> float:
        """Seconds without a sign of life in which this task ran; 0 before the chief is asked.

        To be called again and again.
        """
        if self._last is None:
            return 0.0
        now = self._clock()
        stopped = max(0.0, now - self._looked - _LONGEST_ROUND)
        self._looked = now
        self._last = min(now, self._last + stopped)
        return now - self._last
