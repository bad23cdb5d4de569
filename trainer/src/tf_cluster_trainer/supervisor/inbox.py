"""The one queue that a supervisor's main thread waits on."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue

from tf_cluster_trainer.supervisor.rules.events import Event, Tick


class Inbox:
    """Threads and signal handlers put events into it, in order.

    A signal handler may call `SimpleQueue.put`, but may not take the lock of a `threading.Event`.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[Event] = SimpleQueue()
        self._tick_at = 0.0

    def put(self, event: Event) -> None:
        """Add an event; safe from threads and signal handlers."""
        self._queue.put(event)

    def next(self, timeout: float) -> Event | None:
        """Return the oldest event, or None if none comes within `timeout` seconds."""
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except Empty:
            return None

    def next_or_tick(self, period: float) -> Event:
        """Return the oldest event; if none waits, a Tick, `period` seconds after the last Tick.

        So ticks come where events never cease, too. The first one comes at once.
        """
        event = self.next(self._tick_at - time.monotonic())
        if event is None:
            self._tick_at = time.monotonic() + period
        return event or Tick()
