"""Ctrl-C, SIGTERM and a closed terminal as a flag that the run polls."""

import contextlib
import signal
import time
from queue import Empty, SimpleQueue
from types import FrameType

_ONE_PRESS = 0.5  # seconds: shells and wrappers may forward a signal that has arrived already
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """The signals since `install`. The first asks to stop, the second to stop at once.

    A signal handler may call `SimpleQueue.put`, but may not take the lock of a `threading.Event`:
    if it interrupts that event's `wait`, both wait for each other.
    """

    def __init__(self) -> None:
        self._woken: SimpleQueue[None] = SimpleQueue()
        self.signal: int | None = None
        self.hard = False
        self._first = 0.0

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in _SIGNALS:
            signal.signal(number, self._note)

    def ignore(self) -> None:
        """Ignore further signals: all tasks have ended, only the result is to be printed."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @property
    def asked(self) -> bool:
        """Whether a signal has arrived."""
        return self.signal is not None

    def wait(self, seconds: float) -> None:
        """Sleep; the first signal ends the sleep."""
        if self.asked:
            time.sleep(seconds)
            return
        with contextlib.suppress(Empty):
            self._woken.get(timeout=seconds)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            self._first = time.monotonic()
            self._woken.put(None)
        elif time.monotonic() - self._first > _ONE_PRESS:
            self.hard = True
