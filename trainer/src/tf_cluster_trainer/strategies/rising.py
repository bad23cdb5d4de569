"""Numbers that only rise, in this process and from one process to the next."""

from __future__ import annotations

import time
from collections.abc import Callable


class Rising:
    """Microseconds since 1970 by the wall clock, or more where that was set back."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        """`clock` gives nanoseconds since 1970."""
        self._clock = clock
        self._last = 0

    def next(self, above: int = 0) -> int:
        """A number above this one and above all that were given before."""
        self._last = max(self._clock() // 1000, self._last + 1, above + 1)
        return self._last
