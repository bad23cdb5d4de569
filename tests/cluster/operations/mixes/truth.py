"""What really becomes of a training: its objects are made, and the scheduler places its pods."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Event

from tests.chart.helm import CHART, LOADER
from tests.cluster.kubernetes import Object, command
from tests.cluster.machine_tools import tool_path
from tests.cluster.operations.mixes.cluster import Cluster, unplaced
from tests.cluster.operations.mixes.mix import Mix
from tests.support.waiting import eventually

STILL = 1.5
"""Seconds without a change until what has no place counts as having none: the scheduler tries a
pod again, that another one's place may help, after 1 s at first."""
EMPTIED = 5.0
"""As STILL, when others' pods have gone: those that were refused twice wait 2 s, then 4."""
SURE = 12.0
"""As STILL, where preflight says something else: after the longest wait, 10 s."""


@dataclass(frozen=True)
class Truth:
    """Where the pods are, or why they are nowhere."""

    wanted: int
    placed: dict[str, str] = field(default_factory=dict)
    unplaced: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """By the workload or object that was not made, or whose pods were not."""

    @property
    def fits(self) -> bool:
        """Whether every pod of the release has a node."""
        return len(self.placed) == self.wanted and not self.refused


def rendered(mix: Mix, values: Path) -> list[Object]:
    """The objects that `helm install` would make, in its order."""
    helm = tool_path("helm")
    text = command(
        helm,
        "template",
        mix.name,
        str(CHART),
        f"--namespace={mix.name}",
        f"--values={values}",
        "--skip-tests",
        "--kube-version=1.36",
    )
    return [obj for obj in yaml.load_all(text, LOADER) if obj]


def of(mix: Mix, cluster: Cluster, objects: list[Object]) -> Truth:
    """Make the training, and wait until it is known what becomes of it."""
    for obj in objects:
        try:
            cluster.make(obj, mix.name)
        except ApiError as error:  # helm stops there
            name = f"{obj['kind']}/{obj['metadata']['name']}"
            return Truth(mix.pods, refused={name: error.status.message or ""})
    return settled(mix, cluster, objects, STILL)


def settled(mix: Mix, cluster: Cluster, objects: list[Object], seconds: float) -> Truth:
    """What is seen of a training when that has not changed for so long, or all pods have nodes."""
    workloads = {
        obj["metadata"]["name"]: _pods_of(obj)
        for obj in objects
        if obj["kind"] in ("Job", "Deployment")
    }
    wanted = sum(workloads.values())
    assert wanted == mix.pods, f"the drawing counts {mix.pods} pods, the chart {wanted}"
    still = _Still()

    def look() -> Truth | None:
        seen = _look(mix, cluster, workloads)
        if seen is None:
            still.changed()
            return None
        return seen if seen.fits or still.since(_shape(seen)) >= seconds else None

    return eventually(f"an end of scheduling {mix.name}", look, 40 + seconds, every=0.15)


def _pods_of(workload: Object) -> int:
    spec = workload["spec"]
    return int(spec.get("parallelism", spec.get("replicas", 1)))


class _Still:
    """How long something has been the same."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: object = None
        self._from = 0.0

    def changed(self) -> None:
        self._seen = None

    def since(self, seen: object) -> float:
        """Seconds since it was first as now."""
        if seen != self._seen:
            self._seen, self._from = seen, self._clock()
        return self._clock() - self._from


def _shape(seen: Truth) -> object:
    return sorted(seen.placed.items()), sorted(seen.unplaced), sorted(seen.refused)


def _look(mix: Mix, cluster: Cluster, workloads: dict[str, int]) -> Truth | None:
    """None while a pod is neither placed nor found to have no place, or is still to be made."""
    placed, nowhere = {}, {}
    made = dict.fromkeys(workloads, 0)
    for pod in cluster.pods(mix.name):
        name = (pod.metadata and pod.metadata.name) or ""
        workload = _owner(name, workloads)
        if not workload:
            continue
        made[workload] += 1
        node = pod.spec.nodeName if pod.spec else ""
        if node:
            placed[name] = node
            continue
        words = unplaced(pod)
        if not words:
            return None
        nowhere[name] = words
    missing = [name for name, number in workloads.items() if made[name] < number]
    refused = _refused(cluster.client, mix.name, workloads) if missing else {}
    if any(name not in refused for name in missing):
        return None
    refused = {name: refused[name] for name in missing}
    return Truth(sum(workloads.values()), placed, nowhere, refused)


def _refused(client: Client, namespace: str, workloads: dict[str, int]) -> dict[str, str]:
    """What the API server said of pods that it did not let a controller make, by workload."""
    said = {}
    for event in client.list(Event, namespace=namespace, fields={"reason": "FailedCreate"}):
        workload = _owner(event.involvedObject.name or "", workloads)
        message = event.message or ""
        if workload and any(word in message for word in ("forbidden", "is invalid")):
            said[workload] = message
    return said


def _owner(name: str, workloads: dict[str, int]) -> str:
    """The workload of a pod or of a ReplicaSet, by their names."""
    return next((one for one in workloads if name == one or name.startswith(f"{one}-")), "")


def words(seen: Truth) -> str:
    """A truth as lines."""
    lines = [f"{'fits' if seen.fits else 'does not fit'}: {len(seen.placed)} of {seen.wanted}"]
    lines += [f"  {pod} on {node}" for pod, node in sorted(seen.placed.items())]
    lines += [f"  {pod} nowhere: {why}" for pod, why in sorted(seen.unplaced.items())]
    lines += [f"  {name} refused: {json.dumps(why)}" for name, why in sorted(seen.refused.items())]
    return "\n".join(lines)
