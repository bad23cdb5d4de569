"""Seconds that a killed training process costs in a cluster, its pod staying.

What is killed is everything in the container but the supervisor, as an out-of-memory kill does.
What it costs by hand is that of one on this machine, with no pods beside it.
The pods are asked by their addresses, which this machine reaches: it is the cluster's only node.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.bench.install import CHART, claims, gone, namespace, settings, values
from tests.bench.measure import Sample
from tests.bench.pairs import one_pair
from tests.bench.recovery import chief_by_hand, lost_worker, measure, wait_for_a_save
from tests.bench.training import Point
from tests.cluster.kubernetes import Namespace, Release
from tests.support.waiting import eventually

PORT = 8080
WORKERS = 2
KILL = "kill -9 -1"  # all that this user may signal, but init and who asks


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    """In-graph async, two workers, one ps; each release loses each kind once."""
    with namespace(kubeconfig) as there:
        claims(there)
        for number in range(count):
            ours, by_hand = one_pair(partial(_ours, there, f"lost{number}"), chief_by_hand, number)
            yield {**ours, **by_hand}


class Followed:
    """The chief's status, asked for again and again while in the context.

    `epoch` names its present process, `saved` the step of the newest checkpoint.
    """

    def __init__(self, release: Release) -> None:
        self._address = f"{_pod(release, 'chief')['status']['podIP']}:{PORT}"
        self._seen: list[tuple[str, Point]] = []
        self.epoch = ""
        self.saved: int | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Followed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def first_step(self, *, not_of: str = "") -> Point | None:
        """The first step of the chief's present process, if that is not the one of this epoch.

        A new process first shows what was reported before, then falls to what was restored.
        """
        if self.epoch == not_of:
            return None
        seen = self._of_the_present()
        return next((now for last, now in pairwise(seen) if now.step > last.step), None)

    def points(self) -> list[Point]:
        """Of all that was seen."""
        return [point for _, point in self._seen]

    def all_train(self) -> bool:
        """Whether every worker has made a step in the present process."""
        seen = [point.counts for point in self._of_the_present()]
        return len(seen[-1]) == WORKERS and all(
            any(now.get(name, 0) > last.get(name, 0) for last, now in pairwise(seen))
            for name in seen[-1]
        )

    def _of_the_present(self) -> list[Point]:
        epoch = self.epoch
        return [point for of, point in self._seen if of == epoch]

    def _follow(self) -> None:
        while not self._over.wait(0.05):
            document = ask(self._address, "progress")
            if document.get("epoch"):
                made = {f"workers/{at}_steps": steps for at, steps in document["workers"].items()}
                self._seen.append((document["epoch"], Point(document["now"], made)))
                self.epoch = document["epoch"]
                self.saved = document["checkpointStep"]


def ask(address: str, path: str) -> dict[str, Any]:
    """A task's answer; nothing while there is none."""
    try:
        with urllib.request.urlopen(f"http://{address}/{path}", timeout=1) as answer:
            return dict(json.load(answer))
    except (OSError, ValueError, HTTPException):
        return {}


def _ours(there: Namespace, name: str) -> Sample:
    release = Release(there, name, CHART)
    release.install(_values(), *settings(name))
    try:
        with Followed(release) as chief:
            eventually("the first step", chief.first_step, 60, every=0.05)
            eventually("a step of each worker", chief.all_train, 60)
            return {
                **lost_worker(lambda: _kill(release, "worker", index="1"), chief.points),
                "ps": _next_step_without(release, chief, "ps"),
                "chief": _next_step_without(release, chief, "chief"),
            }
    finally:
        release.uninstall()
        gone(there, f"app.kubernetes.io/instance={name}")


def _next_step_without(release: Release, chief: Followed, component: str) -> float:
    """Seconds from the process' death to the first step of the chief's process that follows."""
    wait_for_a_save(lambda: chief.saved)
    epoch = chief.epoch
    killed = _kill(release, component)
    found = eventually(
        f"a step after the {component} was lost",
        lambda: chief.first_step(not_of=epoch),
        60,
        every=0.05,
    )
    eventually("a step of each worker", chief.all_train, 60)
    return found.time - killed


def _kill(release: Release, component: str, *, index: str = "0") -> float:
    """The training process of a pod; when, by the pod's clock, which is this machine's."""
    pod = _pod(release, component, index)["metadata"]["name"]
    said = release.namespace.kubectl("exec", pod, "--", "sh", "-c", f"date +%s.%N; {KILL}")
    return float(said.split()[0])


def _pod(release: Release, component: str, index: str = "0") -> dict[str, Any]:
    """The running pod of a component and index."""

    def there() -> dict[str, Any] | None:
        pods = release.running(component)
        if component == "worker":
            label = "batch.kubernetes.io/job-completion-index"
            pods = [pod for pod in pods if pod["metadata"]["labels"].get(label) == index]
        return pods[0] if pods else None

    return eventually(f"{component}-{index} to run", there, 60, every=0.2)


def _values() -> Path:
    train = {"stepsPerCall": 10, "reportSeconds": 0.1, "checkpoint": {"seconds": 3}}
    return values("recovery", train=train, workers=WORKERS, ps=1)


MEASURES = {
    "recovery-pods": measure(
        "recovery in pods", "training process killed", _take, minutes=20, on_cluster=True
    ),
}
