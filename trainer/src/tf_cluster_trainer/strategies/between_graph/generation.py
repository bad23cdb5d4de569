"""Numbers that only rise, even if the wall clock is set back."""

from __future__ import annotations

import time
from collections.abc import Callable


class GenerationClock:
    """Gives microseconds since 1970 by the wall clock, or more if the clock was set back.

    So a later process also gives higher numbers. If the clock was set back between two processes,
    only the argument `above` of `next` keeps their numbers apart.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        """`clock` returns nanoseconds since 1970."""
        self._clock = clock
        self._last = 0

    def next(self, above: int = 0) -> int:
        """Return a number above this one and above all that were given or used before."""
        self._last = max(self._clock() // 1000, self._last + 1, above + 1)
        return self._last

    def used(self, number: int) -> None:
        """Note that numbers up to this one, counted up from a given one, may be in use."""
        self._last = max(self._last, number)
