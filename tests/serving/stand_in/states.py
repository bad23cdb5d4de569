"""What became of each version of each model, and who waits for it (core/servable_state_monitor.cc).

A version that ended stays listed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from tests.serving.stand_in.status import StatusError


class State(IntEnum):
    """As ModelVersionStatus.State numbers them."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True)
class Seen:
    """A version's state, and why it ended, where that was an error."""

    state: State
    error: StatusError | None = None


Versions = dict[int, Seen]


class States:
    """All that was published, by model and version."""

    def __init__(self) -> None:
        self._models: dict[str, Versions] = {}
        self._changed = threading.Condition()
        self._listeners: list[Callable[[str, int, Seen], None]] = []

    def publish(self, name: str, version: int, seen: Seen) -> None:
        """Note a state and tell whoever listens."""
        with self._changed:
            self._models.setdefault(name, {})[version] = seen
            for listener in self._listeners:
                listener(name, version, seen)
            self._changed.notify_all()

    def versions(self, name: str) -> Versions:
        """The versions of a model, in order."""
        with self._changed:
            return dict(sorted(self._models.get(name, {}).items()))

    @contextmanager
    def fresh(self) -> Iterator[Fresh]:
        """What is published from now on."""
        made = Fresh(self._changed)
        with self._changed:
            self._listeners.append(made.note)
        try:
            yield made
        finally:
            with self._changed:
                self._listeners.remove(made.note)


class Fresh:
    """States since a moment."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._models: dict[str, Versions] = {}

    def note(self, name: str, version: int, seen: Seen) -> None:
        """One more."""
        self._models.setdefault(name, {})[version] = seen

    def await_available(self, names: Iterable[str]) -> list[str]:
        """Wait until of each model one version is available or has ended, however long it takes.

        Gives the words for each that did not become available.
        """
        with self._changed:
            self._changed.wait_for(lambda: all(self._reached(name) for name in names))
            found = [(name, *one) for name in names if (one := self._reached(name))]
        return [
            f"{{{{name: {name} version: {version}}}"
            + (f" due to error: {seen.error}" if seen.error else "")
            + "}, "
            for name, version, seen in found
            if seen.state != State.AVAILABLE
        ]

    def _reached(self, name: str) -> tuple[int, Seen] | None:
        for version, seen in sorted(self._models.get(name, {}).items()):
            if seen.state in (State.AVAILABLE, State.END):
                return version, seen
        return None
