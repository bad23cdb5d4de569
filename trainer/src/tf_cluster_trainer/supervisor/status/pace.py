"""Estimates how fast a child trains and how long it still takes."""

from __future__ import annotations


class Pace:
    """Steps over seconds since a child's first step; each child has a new one.

    The estimate covers the child's whole run, because the rate of one interval jumps with every
    save. It leaves out the time until the first step, when TensorFlow traces and compiles.
    """

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._origin: int | None = None
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] = (0, 0.0)

    def add(self, step: int, seconds: float) -> None:
        """Add a report: the step reached at this time of a monotonic clock.

        A child's first report says where it begins.
        """
        if self._origin is None:
            self._origin = step
        elif self._first is None and step > self._origin:
            self._first = (step, seconds)
        self._last = (step, seconds)

    def steps_per_second(self) -> float | None:
        """The mean since the first report; None until a later report has more steps."""
        if self._first is None:
            return None
        steps, seconds = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return steps / seconds if steps > 0 and seconds > 0 else None

    def eta_seconds(self) -> float | None:
        """Seconds until the total at the mean rate; 0 at the total, None if unknown."""
        if self._total is None:
            return None
        if self._origin is not None and self._last[0] >= self._total:
            return 0.0
        pace = self.steps_per_second()
        return None if pace is None else (self._total - self._last[0]) / pace
