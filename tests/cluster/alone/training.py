"""A training on the test machine whose status can be read whatever becomes of the cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kubernetes import Object, Release
from tests.support.waiting import eventually

PER_CALL = 8


@dataclass(frozen=True)
class Training:
    """A release that trains, and the directory of its run on the node's disk."""

    name: str
    roles: tuple[str, ...]
    release: Release
    volume: Path
    write_values: Callable[[int], Path]

    def progress(self) -> Object:
        """Its status document, which can be read whatever becomes of the cluster."""
        file = self.volume / self.name / "1" / "progress.json"
        if not file.exists():
            raise LookupError("there is no status yet")
        return dict(json.loads(file.read_text()))

    def step(self) -> int:
        """How far it has come."""
        return int(self.progress()["step"] or 0)

    def saved(self) -> int:
        """The step of its newest checkpoint; 0 before the first."""
        return int(self.progress()["checkpointStep"] or 0)

    def goes_on(self, seconds: float = 120) -> None:
        """It makes more steps than it has made before."""
        before = self.step()
        try:
            eventually(f"a step after {before}", lambda: self.step() > before, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.release.story()}") from None

    def goes_on_for(self, seconds: float) -> None:
        """It makes steps all that time, and one at least."""
        until = time.monotonic() + seconds
        self.goes_on()
        while time.monotonic() < until:
            self.goes_on()

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """None of its tasks begins anew in the block, and it goes on afterwards."""
        pods, restarts = self.pods(), self.progress()["restarts"]
        yield
        self.goes_on()
        assert self.pods() == pods, self.release.story()
        assert self.progress()["restarts"] == restarts, self.release.story()

    def pods(self) -> dict[str, int]:
        """How often each of its tasks' containers has begun anew, by the pod's UID."""
        return {
            pod["metadata"]["uid"]: sum(
                one["restartCount"] for one in pod["status"]["containerStatuses"]
            )
            for role in self.roles
            for pod in self.release.running(role)
        }
