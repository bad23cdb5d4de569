"""Numbers that only rise, also when the wall clock is set back."""

from __future__ import annotations

import time
from collections.abc import Callable


class GenerationClock:
    """Microseconds since 1970 by the wall clock, or more where that was set back.

    So a later process gives higher ones too; when the clock was set back between the two, only what
    it tells by `above` keeps them apart.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        """`clock` gives nanoseconds since 1970."""
        self._clock = clock
        self._last = 0

    def next(self, above: int = 0) -> int:
        """A number above this one, above all that were given before, and all that were used."""
        self._last = max(self._clock() // 1000, self._last + 1, above + 1)
        return self._last

    def used(self, number: int) -> None:
        """Somebody may count up to this one from one that was given."""
        self._last = max(self._last, number)
