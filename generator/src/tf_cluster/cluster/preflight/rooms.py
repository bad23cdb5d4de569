"""What nodes have left, and which pods they would take: the filters of Kubernetes' scheduler."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.cluster.preflight.terms import (
    Json,
    Whole,
    chooses_node,
    reckoned_requests,
    selects,
    term_chooses,
    untolerated,
    whole_amounts,
    whole_requests,
)
from tf_cluster.cluster.preflight.wanted import Wanted, of_template, required_terms

_ENDED = ("Succeeded", "Failed")
_STAYING = ("DaemonSet", "Node")
"""Owners of pods that would be on an empty node, too."""


@dataclass(frozen=True)
class Room:
    """A node, and what pods may still take of it."""

    name: str
    labels: Mapping[str, str]
    spec: Json
    allocatable: Whole
    free: Whole
    reckoned: Whole = field(default_factory=dict)
    """What its pods ask for, as the scheduler's scores count that."""
    images: tuple[Json, ...] = ()

    def keeps_off(self, pod: Wanted) -> str:
        """Why the node is closed to a pod, however much is free; empty where it is not."""
        taint = untolerated(pod.spec, self.spec)
        if taint:
            return f"taint {taint}"
        if not chooses_node(pod.spec, self.name, self.labels):
            return "nodeSelector or node affinity"
        if not all(term_chooses(one, self.name, self.labels) for one in pod.places):
            return "its volume is elsewhere"
        return ""


@dataclass(frozen=True)
class Bound:
    """A pod that is on a node."""

    node: str
    namespace: str
    labels: Mapping[str, str]
    repulsion: tuple[Json, ...] = ()


def rooms(nodes: Iterable[Json], pods: Iterable[Json]) -> list[Room]:
    """The nodes, less what these pods take that are on them."""
    taken: dict[str, Counter[str]] = {}
    reckoned: dict[str, Counter[str]] = {}
    for pod in pods:
        name = pod["spec"].get("nodeName")
        if name and not has_ended(pod):
            takes = whole_requests(pod)
            taken.setdefault(name, Counter()).update(takes)
            reckoned.setdefault(name, Counter()).update(reckoned_requests(pod, takes))
    found = []
    for node in nodes:
        metadata, status = node["metadata"], node.get("status") or {}
        allocatable = whole_amounts(status.get("allocatable"))
        used = taken.get(metadata["name"], Counter())
        free = {name: value - used[name] for name, value in allocatable.items()}
        labels = metadata.get("labels") or {}
        found.append(
            Room(
                metadata["name"],
                labels,
                node.get("spec") or {},
                allocatable,
                free,
                reckoned.get(metadata["name"], Counter()),
                tuple(status.get("images") or ()),
            )
        )
    return sorted(found, key=lambda one: one.name)


def has_ended(pod: Json) -> bool:
    """Whether a pod holds nothing any more."""
    return (pod.get("status") or {}).get("phase") in _ENDED


def stays(pod: Json) -> bool:
    """Whether a pod is one of a DaemonSet or of the node itself."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one["kind"] in _STAYING for one in owners)


def bound(pods: Iterable[Json]) -> list[Bound]:
    """The pods that are on nodes, as affinity looks at them."""
    found = []
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and not has_ended(pod):
            metadata = pod["metadata"]
            repulsion = required_terms(pod["spec"], "podAntiAffinity")
            labels = metadata.get("labels") or {}
            found.append(Bound(node, metadata["namespace"], labels, repulsion))
    return found


@dataclass(frozen=True)
class Waiting:
    """Pods that are not on a node yet. `sure`: the scheduler has not looked at them in vain."""

    pod: Wanted
    sure: bool


def waiting(pods: Iterable[Json]) -> list[Waiting]:
    """Pods that may take room at any moment, alike ones together."""
    found: dict[Any, list[Json]] = {}
    for pod in pods:
        spec, metadata = pod["spec"], pod["metadata"]
        if spec.get("nodeName") or has_ended(pod) or metadata.get("deletionTimestamp"):
            continue
        if spec.get("schedulingGates"):
            continue
        owners = [one["uid"] for one in metadata.get("ownerReferences") or ()]
        key = (metadata["namespace"], *(owners or [metadata["name"]]), _was_refused(pod))
        found.setdefault(key, []).append(pod)
    return [Waiting(_together(alike), sure=not _was_refused(alike[0])) for alike in found.values()]


def _together(alike: Sequence[Json]) -> Wanted:
    first, more = alike[0]["metadata"], len(alike) - 1
    title = f"{first['namespace']}/{first['name']}" + (f" and {more} like it" if more else "")
    return of_template(title, len(alike), first["namespace"], alike[0])


def _was_refused(pod: Json) -> bool:
    return any(
        one["type"] == "PodScheduled" and one["status"] == "False"
        for one in (pod.get("status") or {}).get("conditions") or ()
    )


def matches(term: Json, owner_namespace: str, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether a term of pod affinity, of a pod in a namespace, means a pod with these labels."""
    if term.get("namespaceSelector"):
        return False  # which namespaces it means is not known here
    everywhere = term.get("namespaceSelector") == {}
    there = term.get("namespaces") or ([] if everywhere else [owner_namespace])
    if not everywhere and namespace not in there:
        return False
    return selects(term.get("labelSelector"), labels)
