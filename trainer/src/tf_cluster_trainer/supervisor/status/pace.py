"""How fast a child trains and how long it will take."""

from __future__ import annotations


class Pace:
    """Steps against seconds since a child's first step; made anew for every child.

    The estimate is over all of the child's run: an interval alone jumps with every save. The time
    until the first step is left out, because that is when TensorFlow traces and compiles.
    """

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._origin: int | None = None
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] = (0, 0.0)

    def add(self, step: int, seconds: float) -> None:
        """A report: the step reached at this moment of a monotonic clock.

        A child's first tells where it begins.
        """
        if self._origin is None:
            self._origin = step
        elif self._first is None and step > self._origin:
            self._first = (step, seconds)
        self._last = (step, seconds)

    def steps_per_second(self) -> float | None:
        """Mean since the first step was reported, None until there is another report with more."""
        if self._first is None:
            return None
        steps, seconds = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return steps / seconds if steps > 0 and seconds > 0 else None

    def eta_seconds(self) -> float | None:
        """Seconds until the total at the mean pace; 0 when it is reached, None when unknown."""
        if self._total is None:
            return None
        if self._origin is not None and self._last[0] >= self._total:
            return 0.0
        pace = self.steps_per_second()
        return None if pace is None else (self._total - self._last[0]) / pace
