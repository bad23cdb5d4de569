"""The presets `small`, `medium` and `large`: values where the params file has none.

They are values of the chart; what a preset leaves open is the chart's default. Values of roles that
the training does not have are dropped (expand.py).
"""

from typing import Any


def _resources(cpu: str, memory: str, limit: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": limit}}


def _shared_claims() -> dict[str, Any]:
    mode = {"accessModes": ["ReadWriteMany"]}
    return {"data": dict(mode), "log": dict(mode)}


DEFAULT_PRESET = "small"

PRESETS: dict[str, dict[str, Any]] = {
    # all tasks share one CPU node, so the default class of any cluster will do
    "small": {
        "worker": {"replicas": 2},
        "ps": {"replicas": 1},
        "storage": {
            "data": {"accessModes": ["ReadWriteOnce"]},
            "log": {"accessModes": ["ReadWriteOnce"]},
        },
    },
    # several workers on several nodes, one ps
    "medium": {
        "chief": {"resources": _resources("500m", "2Gi", "4Gi")},
        "worker": {"replicas": 4, "resources": _resources("2", "4Gi", "8Gi")},
        "ps": {"replicas": 1, "resources": _resources("1", "4Gi", "8Gi")},
        "evaluator": {"resources": _resources("500m", "2Gi", "4Gi")},
        "storage": _shared_claims(),
    },
    # several workers and several ps
    "large": {
        "chief": {"resources": _resources("1", "4Gi", "8Gi")},
        "worker": {"replicas": 8, "resources": _resources("4", "8Gi", "16Gi")},
        "ps": {"replicas": 4, "resources": _resources("2", "8Gi", "16Gi")},
        "evaluator": {"resources": _resources("1", "4Gi", "8Gi")},
        "storage": _shared_claims(),
    },
}
