"""The printed line from which a program by hand is timed."""

from __future__ import annotations

import time

EVERY = 0.5  # as often as ours reports in a comparison of rates


class Telling:
    """Prints `step N at T` for the first step, then twice a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def tell(self, step: int) -> None:
        print(f"step {step} at {time.time():.4f}", flush=True)
        self._next = time.monotonic() + EVERY
