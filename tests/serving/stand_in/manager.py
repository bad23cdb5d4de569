"""Loads and unloads versions as they are asked for (core/aspired_versions_manager.cc).

One thread decides, ten times a second. A new version is loaded before an old one is unloaded
(core/availability_preserving_policy.cc). With --num_load_threads=0, the default, this same thread
loads: while it tries a broken version again and again, nothing else is loaded or unloaded.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar

from tests.serving.stand_in.states import Seen, State, States
from tests.serving.stand_in.status import StatusError
from tests.serving.stand_in.versions import log

EVERY_SECONDS = 0.1


class Closes(Protocol):
    """What can be unloaded."""

    def close(self) -> None:
        """Give back what it holds."""


Model = TypeVar("Model", bound=Closes)


class Phase(Enum):
    """How far a version has come (core/loader_harness.h)."""

    NEW = auto()
    BUSY = auto()
    READY = auto()
    DISABLED = auto()
    ERROR = auto()


@dataclass
class Harness(Generic[Model]):
    """A version that is managed. `users` are the requests that run on it."""

    name: str
    version: int
    path: str
    aspired: bool = True
    may_retry: bool = True
    phase: Phase = Phase.NEW
    model: Model | None = None
    users: int = 0

    def __str__(self) -> str:
        return f"{{name: {self.name} version: {self.version}}}"


@dataclass(frozen=True)
class Loading(Generic[Model]):
    """How versions are loaded: by what, how often again, how many at once."""

    load: Callable[[str, int, str], Model]
    retries: int
    interval_seconds: float
    load_threads: int
    unload_threads: int


@dataclass
class Manager(Generic[Model]):
    """All versions that are loaded, or to be."""

    states: States
    loading: Loading[Model]
    initial_threads: int
    _managed: dict[str, dict[int, Harness[Model]]] = field(default_factory=dict)
    _pending: dict[str, Mapping[int, str]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _loaders: ThreadPoolExecutor | None = None
    _unloaders: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Begin to load, many at once."""
        self._loaders = ThreadPoolExecutor(self.initial_threads)
        if self.loading.unload_threads > 0:
            self._unloaders = ThreadPoolExecutor(self.loading.unload_threads)
        threading.Thread(target=self._manage, daemon=True).start()

    def started(self) -> None:
        """The first models are there: from now on load as the flag says."""
        threads = self.loading.load_threads
        with self._changed:
            first = self._loaders
            self._loaders = ThreadPoolExecutor(threads) if threads > 0 else None
        if first:
            first.shutdown(wait=True)

    def aspire(self, name: str, versions: Mapping[int, str]) -> None:
        """These versions of a model are to be served, and no others."""
        with self._changed:
            self._pending[name] = versions

    @contextmanager
    def held(self, name: str, version: int | None) -> Iterator[tuple[int, Model]]:
        """A version that serves, the highest one where none is named. Raises StatusError."""
        with self._changed:
            ready = {
                number: one
                for number, one in self._managed.get(name, {}).items()
                if one.phase is Phase.READY
            }
            number = max(ready, default=None) if version is None else version
            found = ready.get(number) if number is not None else None
            if found is None or found.model is None:
                asked = f"Latest({name})" if version is None else f"Specific({name}, {version})"
                raise StatusError("NOT_FOUND", f"Servable not found for request: {asked}")
            found.users += 1
        try:
            yield found.version, found.model
        finally:
            with self._changed:
                found.users -= 1
                self._changed.notify_all()

    def _manage(self) -> None:
        while True:
            began = time.monotonic()
            with self._changed:
                self._flush()
                self._take_pending()
                action = self._next()
            if action:
                action()
            time.sleep(max(0.0, EVERY_SECONDS - (time.monotonic() - began)))

    def _flush(self) -> None:
        for versions in self._managed.values():
            for number, one in list(versions.items()):
                if one.phase in (Phase.NEW, Phase.DISABLED, Phase.ERROR) and not one.aspired:
                    del versions[number]

    def _take_pending(self) -> None:
        for name, wanted in list(self._pending.items()):
            managed = self._managed.setdefault(name, {})
            if any(not managed[one].aspired for one in wanted if one in managed):
                continue  # it has to go before it can come again
            del self._pending[name]
            for number, one in managed.items():
                if number not in wanted:
                    one.aspired = one.may_retry = False
            for number, path in wanted.items():
                if number not in managed:
                    managed[number] = Harness(name, number, path)
                    self.states.publish(name, number, Seen(State.START))

    def _next(self) -> Callable[[], None] | None:
        """What is to be done now: to unload goes before to load."""
        load: Callable[[], None] | None = None
        for versions in self._managed.values():
            ready = [one for one in versions.values() if one.phase is Phase.READY]
            aspired = [one for one in versions.values() if one.aspired]
            old = sorted((one for one in ready if not one.aspired), key=lambda one: one.version)
            serves = any(one.aspired for one in ready)
            if old and (not aspired or serves or len(old) > 1):
                return partial(self._do, self._unload, old[0])
            new = [one for one in aspired if one.phase is Phase.NEW]
            if new and load is None:
                newest = max(new, key=lambda one: one.version)
                load = partial(self._do, self._load, newest)
        return load

    def _do(self, what: Callable[[Harness[Model]], None], one: Harness[Model]) -> None:
        """Load or unload: in a pool, or, where there is none, here and now."""
        with self._changed:
            one.phase = Phase.BUSY
            pool = self._loaders if what == self._load else self._unloaders
            if pool:
                pool.submit(_or_end, what, one)
                return
        _or_end(what, one)

    def _load(self, one: Harness[Model]) -> None:
        self.states.publish(one.name, one.version, Seen(State.LOADING))
        log(f"Loading servable version {one}")
        error = StatusError("UNKNOWN", "it was not tried")
        for number in range(self.loading.retries + 1):
            if number:
                time.sleep(max(0.0, self.loading.interval_seconds))
                log(f"Retrying of Loading servable: {one} retry: {number}")
            try:
                model = self.loading.load(one.name, one.version, one.path)
            except StatusError as failure:
                error = failure
                log(f"Loading servable: {one} failed: {error}")
                if not one.may_retry:
                    log(f"Retrying of Loading servable: {one} was cancelled.")
                    break
                continue
            if not one.may_retry:
                model.close()
                error = StatusError("CANCELLED", "Loading of servable cancelled")
                break
            with self._changed:
                one.model, one.phase = model, Phase.READY
            log(f"Successfully loaded servable version {one}")
            self.states.publish(one.name, one.version, Seen(State.AVAILABLE))
            return
        log(f"Encountered an error for servable version {one}: {error}")
        self.states.publish(one.name, one.version, Seen(State.END, error))
        with self._changed:
            one.phase = Phase.ERROR

    def _unload(self, one: Harness[Model]) -> None:
        self.states.publish(one.name, one.version, Seen(State.UNLOADING))
        with self._changed:
            self._changed.wait_for(lambda: one.users == 0)
            model, one.model = one.model, None
        if model:
            model.close()
        log(f"Done unloading servable version {one}")
        with self._changed:
            one.phase = Phase.DISABLED
        self.states.publish(one.name, one.version, Seen(State.END))


def _or_end(what: Callable[[Harness[Model]], None], one: Harness[Model]) -> None:
    """A fault of the stand-in itself ends it: no case may wait for what never comes."""
    try:
        what(one)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
