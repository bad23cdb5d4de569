"""What can happen to a supervisor. Threads and signals put events into one inbox, in order.

`SimpleQueue.put` may be called from a signal handler; the locks of `threading.Event` may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from .. import protocol
from .contest import Standing


@dataclass(frozen=True)
class StopAsked:
    """SIGTERM or SIGINT came."""


@dataclass(frozen=True)
class ChildSaid:
    """A message of the child with this number."""

    child: int
    message: protocol.Message


@dataclass(frozen=True)
class ChildEnded:
    """The child with this number is gone: `returncode` as in subprocess (negative: a signal)."""

    child: int
    returncode: int


@dataclass(frozen=True)
class PeersChanged:
    """What is known of a peer is not what it was."""


@dataclass(frozen=True)
class PeerReplaced:
    """This ps or worker runs another server than the child with this number is connected to."""

    child: int
    task: str


@dataclass(frozen=True)
class PeerFailed:
    """This worker or ps ends in a way that no retry can help; the message says why."""

    task: str
    message: str


@dataclass(frozen=True)
class StandingChanged:
    """Where this chief stands in the contest for the run."""

    standing: Standing


@dataclass(frozen=True)
class ChiefSeen:
    """The chief's status document, from its port or from progress.json; None: neither."""

    document: Mapping[str, Any] | None
    from_file: bool = False


Event = (
    StopAsked
    | ChildSaid
    | ChildEnded
    | PeersChanged
    | PeerReplaced
    | PeerFailed
    | StandingChanged
    | ChiefSeen
)


class Inbox:
    """The one queue that a supervisor's main thread waits on."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Event] = SimpleQueue()

    def put(self, event: Event) -> None:
        """Add an event; safe from threads and signal handlers."""
        self._queue.put(event)

    def next(self, timeout: float) -> Event | None:
        """The oldest event, or None when none comes in time."""
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except Empty:
            return None
