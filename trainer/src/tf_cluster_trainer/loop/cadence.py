"""When something is due: after a number of seconds or of steps."""

from __future__ import annotations

from collections.abc import Callable


class Cadence:
    """Due every `seconds`, and every `steps` unless None, since the last `reset`."""

    def __init__(
        self, *, seconds: float, steps: int | None, step: int, clock: Callable[[], float]
    ) -> None:
        self._seconds = seconds
        self._steps = steps
        self._clock = clock
        self.reset(step)

    def due(self, step: int) -> bool:
        """Whether it is due at this step."""
        if self._steps is not None and step - self._step >= self._steps:
            return True
        return self._clock() - self._time >= self._seconds

    def reset(self, step: int) -> None:
        """It was done at this step."""
        self._time = self._clock()
        self._step = step


class Reporting(Cadence):
    """The first report is due after the first step; then one every `seconds`."""

    def __init__(self, *, seconds: float, step: int, clock: Callable[[], float]) -> None:
        self._began = step
        super().__init__(seconds=seconds, steps=1, step=step, clock=clock)

    def reset(self, step: int) -> None:
        """It was done at this step."""
        super().reset(step)
        if step > self._began:
            self._steps = None
