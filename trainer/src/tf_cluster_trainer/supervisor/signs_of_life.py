"""When an attempt's chief was last heard of."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


class SignsOfLife:
    """Of one attempt's chief, as one of its tasks hears of it.

    An answer of it is a sign of life, and so is its question; of progress.json, which stays when
    the chief is gone, only what has changed.
    """

    def __init__(self, attempt: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._attempt = attempt
        self._clock = clock
        self._last: float | None = None
        self._in_file: Mapping[str, Any] | None = None

    def begin(self) -> None:
        """The chief is asked from now on: the silence before does not count."""
        if self._last is None:
            self._last = self._clock()

    def note(self, chief: Mapping[str, Any], *, from_file: bool) -> None:
        """Hear the chief's document; another attempt's says nothing of ours."""
        if chief.get("attempt") != self._attempt:
            return
        if self._last is not None and not (from_file and chief == self._in_file):
            self._last = self._clock()
        if from_file:
            self._in_file = chief

    def silent_for(self) -> float:
        """Seconds without a sign of life; 0 before the chief is asked."""
        return 0.0 if self._last is None else self._clock() - self._last
