"""A training on the test machine whose status can be read whatever becomes of the cluster."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kubernetes import INDEX, CommandError, Object, Release
from tests.cluster.test_life_cycle import RESUMED
from tests.generator.local.combinations import RETRIED, last_steps
from tests.support.waiting import eventually

PER_CALL = 8


@dataclass(frozen=True)
class Training:
    """A release that trains, named as its combination, and its run's directory on the disk."""

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

    def ends_at_the_right_step(self) -> None:
        """Its total is set to a step that it soon comes to, and there it ends well."""
        total = self.step() + 400
        self.release.upgrade(self.write_values(total))
        client = "chief" if "chief" in self.roles else "worker"
        self.release.await_job(client, "Complete", 240)
        ended = self.progress()
        assert (ended["status"], ended["final"]) == ("done", True)
        log = self._last_log(client)
        resumed = re.search(RESUMED, log)
        assert resumed, log[-3000:]
        # What was made between the look at the step and the upgrade counts, too.
        needed = max(total, int(resumed[1]))
        retried = log.count(RETRIED)
        allowed = last_steps(self.name, needed, per_call=PER_CALL, retried=retried)
        assert ended["step"] in allowed, self.release.story()

    def _last_log(self, client: str) -> str:
        """Of the client's pod that has ended well."""
        job = self.release.one("job", client)["metadata"]["name"]
        mine = [
            pod["metadata"]["name"]
            for pod in self.release.objects("pod", client)
            if pod["metadata"]["labels"]["job-name"] == job
            and pod["metadata"]["labels"].get(INDEX, "0") == "0"
            and pod["status"]["phase"] == "Succeeded"
        ]
        try:
            return self.release.namespace.kubectl("logs", mine[0])
        except (CommandError, IndexError) as error:
            raise AssertionError(f"{error}\n{self.release.story()}") from None
