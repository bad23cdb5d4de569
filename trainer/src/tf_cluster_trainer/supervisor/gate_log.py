"""Logs a wait: at first, on change, and every 30 s."""

from __future__ import annotations

import time
from collections.abc import Callable

AGAIN_SECONDS = 30.0
SETTLE_SECONDS = 1.0


class GateLog:
    """Logs what the task waits for, without a line for every poll.

    Changes within a second become one line, because tasks come up one after the other.
    """

    def __init__(
        self, log: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._clock = clock
        self._since = clock()
        self._said: tuple[object, float] = (None, float("-inf"))

    def write(self, state: object, message: str) -> None:
        """Log `message` if `state` has changed; `state` lacks the seconds, which always change."""
        now = self._clock()
        said, at = self._said
        if now - self._since < SETTLE_SECONDS:
            return
        if (state != said and now - at >= SETTLE_SECONDS) or now - at >= AGAIN_SECONDS:
            self._said = (state, now)
            self._log(message)
