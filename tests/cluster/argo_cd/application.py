"""A training as Argo CD has it: its commits, what Argo CD says of it, what is in the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

from tests.cluster.argo_cd.watch import Watch, watching
from tests.cluster.conftest import CHART, ROOT, MakeValues
from tests.cluster.kubernetes import Release
from tests.cluster.test_life_cycle import await_steps
from tests.programs import ENDLESS, SLOWLY
from tests.support.argo_cd import ArgoCD, Object, Repository
from tests.support.waiting import eventually

PAGE = (ROOT / "docs" / "gitops.md").read_text()
TRAIN = {"stepsPerCall": 8, "checkpoint": {"seconds": 5}}
SEEN = "{.status.sync.status} {.status.health.status} {.status.operationState.phase}"
PODS = "{.metadata.uid} {.spec.hostname} {.status.containerStatuses[*].restartCount}"
TASKS = "app.kubernetes.io/component in (chief,worker,ps)"

Change = Callable[[Object], None]


def the_pages(kind: str) -> Object:
    """The object of this kind that docs/gitops.md gives."""
    blocks = re.findall(r"^    apiVersion: argoproj(?:.*\n    )+.*\n", PAGE, re.MULTILINE)
    (found,) = (one for one in map(yaml.safe_load, blocks) if one["kind"] == kind)
    return dict(found)


def unchanged(_: Object) -> None:
    """No change by hand."""


@dataclass(frozen=True)
class Application:
    """One that is named as its values file: `trainings/<name>.values.yaml`."""

    name: str
    argo_cd: ArgoCD
    repository: Repository
    make_values: MakeValues

    @property
    def release(self) -> Release:
        return Release(self.argo_cd.namespace, self.name, CHART)

    @property
    def values(self) -> str:
        return f"trainings/{self.name}.values.yaml"

    def commit(self, why: str, change: Change = unchanged, **params: Any) -> str:
        """Commit values made of these params, changed by hand after that; returns the commit."""
        asked = {**SLOWLY, "train": {**TRAIN, "steps": ENDLESS}, **params}
        values = yaml.safe_load(self.make_values(self.name, **asked).read_text())
        change(values)
        return self.repository.commit(self.values, yaml.safe_dump(values), why)

    def create(self, change: Change = unchanged) -> None:
        """The page's Application, of our repository, values and cluster, changed by hand."""
        application = the_pages("Application")
        application["metadata"] |= {"name": self.name, "namespace": self.argo_cd.namespace.name}
        place(application["spec"], self.argo_cd, self.repository)
        application["spec"]["source"]["helm"]["valueFiles"] = [f"../../{self.values}"]
        change(application)
        self.argo_cd.namespace.apply(application)

    def delete(self, *, wait: bool = True) -> None:
        """And wait until what it made is gone."""
        named = ("applications.argoproj.io", self.name)
        how = (f"--wait={str(wait).lower()}", "--timeout=3m")
        self.argo_cd.namespace.kubectl("delete", *named, *how)

    def status(self) -> Object:
        return self.argo_cd.status(self.name)

    def seen(self) -> tuple[str, str]:
        """Sync and health. LookupError while it has none."""
        status = self.status()
        return status["sync"]["status"], status["health"]["status"]

    def healthy(self) -> bool:
        return self.seen()[1] == "Healthy"

    def synced_to(self, revision: str) -> None:
        """Wait until Argo CD has applied a commit, and finds no difference."""
        self.argo_cd.refresh(self.name)

        def is_synced() -> bool:
            status = self.status()
            operation, sync = status.get("operationState") or {}, status["sync"]
            seen = (sync["status"], sync.get("revision"), operation.get("phase"))
            if seen != ("Synced", revision, "Succeeded"):
                raise LookupError(f"{seen} {operation.get('message')} {status.get('conditions')}")
            return True

        eventually(f"Argo CD to sync {revision[:8]}", is_synced, 60)

    def pods(self) -> set[str]:
        kinds = ("chief", "worker", "ps")
        return {pod["metadata"]["uid"] for kind in kinds for pod in self.release.running(kind)}

    def claims(self) -> dict[str, str]:
        found = self.release.objects("pvc")
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}

    def trains_beyond(self, step: int) -> int:
        return await_steps(self.release, step)

    @contextmanager
    def told(self) -> Iterator[Story]:
        """What is said of it meanwhile."""
        labels = f"app.kubernetes.io/instance={self.name},{TASKS}"
        namespace = self.argo_cd.namespace
        with (
            watching(namespace, SEEN, "applications.argoproj.io", self.name) as said,
            watching(namespace, PODS, "pods", f"--selector={labels}") as pods,
        ):
            yield Story(said, pods)


def place(spec: Object, argo_cd: ArgoCD, repository: Repository) -> None:
    """Have an Application's spec name our repository and our cluster."""
    spec["source"]["repoURL"] = repository.url
    spec["destination"] = {"server": argo_cd.server, "namespace": argo_cd.namespace.name}


@dataclass(frozen=True)
class Story:
    """Sync, health and operation of an Application, and its tasks' pods, while one watched."""

    said: Watch
    pods: Watch

    def lines(self) -> list[str]:
        return [line for _, line in self.said.lines]

    def seconds_out_of_sync(self) -> tuple[float, float]:
        """During operations of Argo CD, and outside of them.

        One that is asked for and has not begun, which has no phase, counts as one.
        """
        inside = outside = 0.0
        for (since, line), (until, _) in pairwise(self.said.lines):
            sync, _, operation = line.split(" ")
            if sync == "OutOfSync":
                running = operation in ("", "Running")
                inside += (until - since) * running
                outside += (until - since) * (not running)
        return inside, outside

    def tasks(self) -> dict[str, set[str]]:
        """The pods of each task of each attempt."""
        found: dict[str, set[str]] = {}
        for _, line in self.pods.lines:
            uid, task, *_ = line.split()
            found.setdefault(task, set()).add(uid)
        return found

    def restarts(self) -> list[str]:
        """Tasks that had a second pod, and containers that began again."""
        again = {
            f"{task}: a container"
            for _, task, *counts in (line.split() for _, line in self.pods.lines)
            if any(int(count) for count in counts)
        }
        more = (f"{task}: {len(pods)} pods" for task, pods in self.tasks().items() if len(pods) > 1)
        return sorted((*again, *more))

    def __str__(self) -> str:
        lines = (f"{at:.1f} {line}" for at, line in (*self.said.lines, *self.pods.lines))
        return "\n".join(lines)
