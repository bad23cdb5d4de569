"""Makes calls one after the other in its own thread, which can be paused between two."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CallThread:
    """Makes the queued calls in order; the first error ends the thread and reaches its user."""

    def __init__(self, call: Callable[[int], None]) -> None:
        self._call = call
        self._queue: deque[int] = deque()
        self._running = False
        self._holds = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="calls", daemon=True).start()

    def put(self, steps: int) -> None:
        """Queue a call. Raises the error of an earlier one."""
        with self._changed:
            self._raise()
            self._queue.append(steps)
            self._changed.notify_all()

    def outstanding(self) -> int:
        """The number of calls queued or running. Raises a failed call's error."""
        with self._changed:
            self._raise()
            return len(self._queue) + self._running

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Wait for the running call; inside this context no other begins. Raises its error."""
        with self._changed:
            self._holds += 1
            while self._running:
                self._changed.wait()
        try:
            with self._changed:
                self._raise()
            yield
        finally:
            with self._changed:
                self._holds -= 1
                self._changed.notify_all()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._holds or not self._queue:
                    self._changed.wait()
                steps = self._queue.popleft()
                self._running = True
            error = None
            try:
                self._call(steps)
            except BaseException as caught:
                error = caught
            with self._changed:
                self._running = False
                self._error = error
                self._changed.notify_all()
            if error is not None:
                return
