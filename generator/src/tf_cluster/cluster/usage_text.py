"""What nodes and trainings ask for and use, as text and as JSON (docs/formats.md)."""

from collections.abc import Iterable, Mapping
from typing import Any

from tf_cluster.cluster.reading import amount
from tf_cluster.cluster.snapshot import Quota
from tf_cluster.cluster.text import table
from tf_cluster.cluster.usage import PODS, NodeUse, TrainingUse, Usage

FORMAT = "tf-cluster.io/usage/v1"
QUOTA_FORMAT = "tf-cluster.io/quota/v1"
CPU, MEMORY = "cpu", "memory"


def usage_text(usage: Usage, *, with_namespace: bool) -> str:
    """A table of nodes and one of trainings, each with a line for all."""
    devices = sorted({name for one in usage.nodes for name in _devices(one.node.allocatable)})
    parts = []
    if usage.nodes:
        head = ["NODE", "STATUS", *_heads("CPU"), "CPU FREE", *_heads("MEMORY"), "MEMORY FREE"]
        head += [word for name in devices for word in (f"{name} ASKED", f"{name} FREE")]
        rows = [_node_row(one, devices) for one in usage.nodes]
        parts.append(table([*head, "PODS"], rows))
    if usage.trainings:
        head = ["TRAINING", *_heads("CPU"), *_heads("MEMORY"), "GPUS ASKED"]
        rows = [_training_row(one) for one in usage.trainings]
        if with_namespace:
            head.insert(0, "NAMESPACE")
            for row, one in zip(rows, usage.trainings, strict=True):
                row.insert(0, one.training.namespace)
        parts.append(table(head, rows))
    return "\n".join(parts)


def usage_json(usage: Usage) -> dict[str, Any]:
    """The same as a JSON document: CPU in cores, memory in bytes."""
    return {
        "format": FORMAT,
        "unread": list(usage.unread),
        "nodes": [
            {
                "name": one.node.name,
                "ready": one.node.is_ready,
                "unschedulable": one.node.is_unschedulable,
                "allocatable": one.node.allocatable,
                "asked": one.asked,
                "used": one.used,
            }
            for one in usage.nodes
        ],
        "trainings": [
            {
                "namespace": one.training.namespace,
                "name": one.training.name,
                "asked": one.asked,
                "used": one.used,
            }
            for one in usage.trainings
        ],
    }


def quota_text(quotas: Iterable[Quota], *, with_namespace: bool) -> str:
    """A line for each resource of each quota, in Kubernetes' spelling but for what is left."""
    head = ["QUOTA", "RESOURCE", "USED", "HARD", "LEFT"]
    rows = []
    for one in quotas:
        for resource, hard in sorted(one.hard.items()):
            used = one.used.get(resource, "0")
            row = [one.name, resource, used, hard, shown(_base(resource), _left(one, resource))]
            rows.append([one.namespace, *row] if with_namespace else row)
    return table(["NAMESPACE", *head] if with_namespace else head, rows)


def quota_json(quotas: Iterable[Quota]) -> dict[str, Any]:
    """The same as a JSON document; `left` in the resource's unit."""
    return {
        "format": QUOTA_FORMAT,
        "quotas": [
            {
                "namespace": one.namespace,
                "name": one.name,
                "resources": {
                    resource: {
                        "used": one.used.get(resource, "0"),
                        "hard": hard,
                        "left": _left(one, resource),
                    }
                    for resource, hard in sorted(one.hard.items())
                },
            }
            for one in quotas
        ],
    }


def _left(quota: Quota, resource: str) -> float:
    return max(amount(quota.hard[resource]) - amount(quota.used.get(resource, "0")), 0.0)


def _base(resource: str) -> str:
    """`memory` of `limits.memory` and of `requests.memory`, whose unit it is."""
    for prefix in ("requests.", "limits."):
        resource = resource.removeprefix(prefix)
    return MEMORY if resource.endswith("storage") else resource


def _heads(name: str) -> list[str]:
    return [f"{name} ASKED", "USED"]


def _node_row(one: NodeUse, devices: Iterable[str]) -> list[str]:
    node = one.node
    status = "" if node.is_ready else "NotReady"
    row = [node.name, status or ("cordoned" if node.is_unschedulable else "ready")]
    for resource in (CPU, MEMORY):
        row += [_shown(resource, one.asked), _shown(resource, one.used)]
        row.append(shown(resource, one.free(resource)))
    for name in devices:
        row += [_shown(name, one.asked) or "0", shown(name, one.free(name))]
    return [*row, f"{one.asked.get(PODS, 0):.0f}/{node.allocatable.get(PODS, 0):.0f}"]


def _training_row(one: TrainingUse) -> list[str]:
    row = [one.training.name]
    for resource in (CPU, MEMORY):
        row += [_shown(resource, one.asked), _shown(resource, one.used)]
    return [*row, f"{sum(one.asked[name] for name in _devices(one.asked)):.0f}"]


def _devices(amounts: Iterable[str]) -> list[str]:
    return [name for name in amounts if "/" in name]


def _shown(resource: str, amounts: Mapping[str, float] | None) -> str:
    if amounts is None or resource not in amounts:
        return ""
    return shown(resource, amounts[resource])


def shown(resource: str, value: float) -> str:
    """An amount for people: `1.5Gi` of memory, `0.25` of CPUs, `8` GPUs."""
    if resource in (MEMORY, "ephemeral-storage"):
        gib = value / 2**30
        return f"{gib:.1f}Gi" if gib >= 1 else f"{value / 2**20:.0f}Mi"
    return f"{value:.2f}".rstrip("0").rstrip(".") if resource == CPU else f"{value:.0f}"
