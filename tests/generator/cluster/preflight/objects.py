"""Nodes and pods as the API server gives them, in short."""

from __future__ import annotations

from typing import Any

from tf_cluster.cluster.preflight.wanted import Wanted, of_template

Json = dict[str, Any]


def node(
    name: str, labels: Json | None = None, taints: list[Json] | None = None, **has: str
) -> Json:
    """A node with room for ten pods and what is given: `cpu="4"`."""
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": taints or []},
        "status": {"allocatable": {"pods": "10", **has}},
    }


def template(labels: Json | None = None, spec: Json | None = None, **asks: str) -> Json:
    """A pod of one container that asks for what is given."""
    container = {"name": "worker", "resources": {"requests": asks}}
    return {
        "metadata": {"labels": labels or {}},
        "spec": {"containers": [container], **(spec or {})},
    }


def wanted(count: int, title: str = "worker", spec: Json | None = None, **asks: str) -> Wanted:
    """Pods of a training in the namespace `a`."""
    made = of_template(title, count, "a", template({"role": title}, spec, **asks))
    return Wanted(**{**made.__dict__, "own": True})


def pod(
    name: str, on: str = "", labels: Json | None = None, spec: Json | None = None, **asks: str
) -> Json:
    """A pod that exists, on a node or waiting."""
    made = template(labels, {**(spec or {}), **({"nodeName": on} if on else {})}, **asks)
    made["metadata"] |= {"name": name, "namespace": "a"}
    return {**made, "status": {"phase": "Running" if on else "Pending"}}


def near(labels: Json) -> Json:
    """A spec with required affinity to pods with these labels, on one node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"podAffinity": {key: [term]}}}
