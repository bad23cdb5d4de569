"""Shows the progress of a run: a live block on a terminal, plain lines elsewhere."""

import os
import sys
from collections.abc import Callable
from typing import Protocol, TextIO

from tf_cluster.progress.document import Progress
from tf_cluster.progress.text import progress_line


class Display(Protocol):
    """Prints the messages of a run on stderr. `close` may be called twice."""

    def show(self, progress: Progress) -> None:
        """Show the progress; called several times a second."""

    def say(self, words: str) -> None:
        """Print a line that stays."""

    def close(self) -> None:
        """End the live part."""


class PlainLines:
    """A line at each change of status, and one every few seconds while it lasts."""

    def __init__(
        self, name: str, stream: TextIO, clock: Callable[[], float], every: float = 5.0
    ) -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._every = every
        self._last: tuple[str, float, str] | None = None

    def show(self, progress: Progress) -> None:
        """Print if the status has changed, or if the last line is old enough."""
        now = self._clock()
        line = progress_line(progress)
        if self._last is not None:
            status, when, before = self._last
            if status == progress.status and (now - when < self._every or line == before):
                return
        self._last = (progress.status, now, line)
        self.say(line)

    def say(self, words: str) -> None:
        """Print a line."""
        print(f"{self._name}: {words}", file=self._stream, flush=True)

    def close(self) -> None:
        """Do nothing: there is no live part."""


def display_for(name: str, stream: TextIO, clock: Callable[[], float]) -> Display:
    """A live block when `stream` is a terminal that can move its cursor."""
    if stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        from tf_cluster.local.screen import LiveBlock

        return LiveBlock(name)
    return PlainLines(name, stream or sys.stderr, clock)
