"""Draw what an administrator allows in a namespace: quotas and limit ranges."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes.amounts import GPU, Amounts, quantities, total
from tests.cluster.operations.mixes.training import Task

NOBODY = Amounts()


def tight_quota(rng: Random, tasks: tuple[Task, ...], there: list[Amounts], claims: int) -> Object:
    """One that is just enough, or a little too small, in one or two of what it counts."""
    need = total([*there, *(task.asks * task.number for task in tasks)])
    limits = total([*there, *(task.limits * task.number for task in tasks)])
    pods = len(there) + sum(task.number for task in tasks)
    jobs = sum(task.role in ("chief", "worker", "evaluator", "cleanup") for task in tasks)
    missing = rng.choice((0, 0, 0, 1, 1))
    less = max(task.asks.cpu for task in tasks) * rng.choice((0.05, 0.5, 1)) * missing
    ways: dict[str, Callable[[], str]] = {
        "requests.cpu": lambda: f"{max(int(need.cpu - less), 1)}m",
        "cpu": lambda: f"{max(int(need.cpu - less), 1)}m",
        "requests.memory": lambda: f"{need.memory - missing}Mi",
        "limits.memory": lambda: f"{limits.memory - missing}Mi",
        "pods": lambda: str(pods - missing),
        "count/pods": lambda: str(pods - missing),
        "count/jobs.batch": lambda: str(jobs - missing),
        f"requests.{GPU}": lambda: str(max(need.gpus - missing, 0)),
        "persistentvolumeclaims": lambda: str(max(claims - missing, 0)),
        "limits.cpu": lambda: f"{max(limits.cpu, 100)}m",
        "services": lambda: str(rng.choice((1, 2, 3, 6))),
        "count/deployments.apps": lambda: str(rng.choice((0, 1, 2, 4))),
        "count/configmaps": lambda: str(rng.choice((1, 2, 3))),
        "requests.storage": lambda: rng.choice(("2Gi", "4Gi", "5Gi", "20Gi")),
    }
    often = (4, 1, 4, 3, 3, 1, 1, 2, 1, 1, 1, 1, 1, 1)
    usual = rng.choices(list(ways), often, k=rng.choice((1, 1, 2)))
    made = quota("tight", {key: ways[key]() for key in usual})
    of_pods = {"requests.cpu", "cpu", "requests.memory", "limits.memory", "pods", "limits.cpu"}
    if set(usual) <= of_pods and rng.random() < 0.4:
        made["spec"]["scopes"] = [rng.choice(("NotTerminating", "NotTerminating", "Terminating"))]
    return made


def roomy_quota(rng: Random) -> Object:
    """One that is never in the way, but of what every pod then has to say."""
    keys = rng.sample(["requests.cpu", "requests.memory", "limits.memory"], rng.choice((1, 2)))
    return quota("roomy", {key: "500" if "cpu" in key else "2000Gi" for key in keys})


def quota(name: str, hard: dict[str, str]) -> Object:
    """A ResourceQuota."""
    return _rule("ResourceQuota", name, {"hard": hard})


def limit_range(rng: Random, tasks: tuple[Task, ...]) -> Object:
    """Defaults for containers that say nothing, or the most and the least that one may say."""
    largest = NOBODY
    for task in tasks:
        largest = largest.most(task.asks)
    largest = Amounts(largest.cpu, largest.memory)
    default = Amounts(rng.choice((100, 500)), rng.choice((256, 1024)))
    kinds: dict[str, dict[str, Any]] = {
        "defaults": {
            "type": "Container",
            "default": quantities(rng, default * 2),
            "defaultRequest": quantities(rng, default),
        },
        "requests alone": {"type": "Container", "defaultRequest": quantities(rng, default)},
        "most": {
            "type": "Container",
            "max": quantities(rng, largest * rng.choice((0.9, 2.0, 4.0))),
        },
        "most memory": {
            "type": "Container",
            "max": quantities(rng, Amounts(0, int(largest.memory * rng.choice((0.9, 2.0, 4.0))))),
        },
        "least": {
            "type": "Container",
            "min": quantities(rng, Amounts(0, rng.choice((16, 64, 200)))),
        },
        "most of a pod": {
            "type": "Pod",
            "max": quantities(rng, Amounts(0, int(largest.memory * rng.choice((0.9, 2.0, 4.0))))),
        },
        "ratio": {
            "type": "Container",
            "maxLimitRequestRatio": {"memory": rng.choice(("1", "2", "4"))},
        },
        "claims": {
            "type": "PersistentVolumeClaim",
            "max": {"storage": rng.choice(("1Gi", "2Gi", "10Gi"))},
        },
    }
    kind = rng.choice(list(kinds))
    return _rule("LimitRange", kind.replace(" ", "-"), {"limits": [kinds[kind]]})


def _rule(kind: str, name: str, spec: dict[str, Any]) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
