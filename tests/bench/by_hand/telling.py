"""The printed line from which a program by hand is timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

EVERY = 0.5  # seconds; as often as ours reports in a comparison of rates


class Telling:
    """Prints `step N at T` for the first step, then twice a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def tell(self, step: int) -> None:
        print(f"step {step} at {time.time():.4f}", flush=True)
        self._next = time.monotonic() + EVERY


def tell_from_now_on(step: Callable[[], int]) -> None:
    """Tell at once, then twice a second beside the training, which never waits for it."""
    telling = Telling()
    telling.tell(step())

    def tell() -> None:
        while True:
            time.sleep(EVERY)  # between two reports
            telling.tell(step())

    threading.Thread(target=tell, daemon=True).start()
