"""How many steps a call makes: the setting, or as many as take half a second.

A call costs a few milliseconds beside its steps, so long calls are fast; short calls report, save
and stop soon. With half a second the overhead is under 1 %, and nobody notices the delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable

TARGET_SECONDS = 0.5
# The rate is measured over this long, then again: the pace of a run changes.
MEASURED_SECONDS = 0.25
GROWTH = 10
# Queued calls for each call in flight, in seconds of work: the loop checks every 10 ms.
AHEAD_SECONDS = 0.05
AHEAD_CALLS = 2


class Pace:
    """Chooses the steps of the next call; learns from `made`.

    `max_in_flight` calls run at once. `fixed` is the user's choice; None: adapt, so that a call
    takes `target` seconds and at most `most` steps.
    """

    def __init__(
        self,
        *,
        fixed: int | None,
        max_in_flight: int,
        target: float,
        most: int | None,
        clock: Callable[[], float],
    ) -> None:
        self._fixed = fixed
        self._max_in_flight = max_in_flight
        self._target = min(TARGET_SECONDS, target)
        self._most = most
        self._clock = clock
        self._steps = 1
        self._since: float | None = None
        self._made = 0
        self._seconds_a_step: float | None = None

    def next(self, remaining: int) -> int:
        """Steps of the next call, at least 1; `remaining` are those not yet in any call.

        Towards the end calls get shorter, so that all workers end together.
        """
        if self._fixed is not None:
            return max(1, min(self._fixed, remaining))
        share = remaining // (AHEAD_CALLS * self._max_in_flight)
        return max(1, min(self._steps, round_down(max(1, share))))

    def waiting(self) -> int:
        """How many calls, queued or running, keep every worker busy until the next check."""
        calls = AHEAD_CALLS
        if self._seconds_a_step:
            calls = max(calls, math.ceil(AHEAD_SECONDS / (self._seconds_a_step * self._steps)))
        return calls * self._max_in_flight

    def made(self, steps: int) -> None:
        """Record that calls with this many steps in all have ended since the last time."""
        now = self._clock()
        if self._since is None:
            if steps:  # the first call also builds the graph: time is taken from its end on
                self._since = now
            return
        self._made += steps
        seconds = now - self._since
        if seconds < MEASURED_SECONDS or not self._made:
            return
        self._seconds_a_step = seconds * self._max_in_flight / self._made
        self._since, self._made = now, 0
        wanted = min(self._target / self._seconds_a_step, GROWTH * self._steps)
        if self._most is not None:
            wanted = min(wanted, self._most)
        # One size up or down by the clock's noise is no reason to change.
        if not self._steps <= wanted < 2.5 * self._steps:
            self._steps = round_down(max(1, int(wanted)))


def round_down(steps: int) -> int:
    """The largest of 1, 2, 5, 10, 20, 50, … up to `steps`: few sizes, each sent once."""
    power = int(10 ** (len(str(steps)) - 1))
    return next(times * power for times in (5, 2, 1) if times * power <= steps)
