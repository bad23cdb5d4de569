"""Draw a training: the values of a release, and what its pods ask for."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes.amounts import Amounts, quantities

IMAGE = "registry.example/tf-cluster-trainer"
COMBINATIONS = (
    ("parameter-server", "in-graph", "async"),
    ("parameter-server", "in-graph", "sync"),
    ("parameter-server", "between-graph", "async"),
    ("parameter-server", "between-graph", "sync"),
    ("all-reduce", "between-graph", "sync"),
)
CPUS = (50, 100, 250, 500, 750, 1000, 1500, 2000, 4000, 6000)
MEMORIES = (128, 256, 512, 1024, 1536, 2048, 3000, 4096, 8192, 16384)


@dataclass(frozen=True)
class Task:
    """Pods of a role, all alike: how many, and what each of them asks for."""

    role: str
    number: int
    asks: Amounts
    limits: Amounts


@dataclass(frozen=True)
class Training:
    """The values of a release, without where its pods may go and what they mount."""

    values: dict[str, Any]
    tasks: tuple[Task, ...]

    def mounting(self, of_many: bool) -> set[str]:
        """The roles that mount claims: a ps does where many nodes can."""
        return {"chief", "worker", "evaluator", "tensorboard"} | ({"ps"} if of_many else set())


def draw_training(rng: Random) -> Training:
    """Any combination, with pods of one size or of several."""
    strategy, replication, update = rng.choice(COMBINATIONS)
    values: dict[str, Any] = {
        "image": {"repository": IMAGE},
        "program": {"module": "example.digits:Digits"},
        "strategy": strategy,
        "replication": replication,
        "update": update,
    }
    numbers = {"worker": rng.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12))}
    if replication == "in-graph":
        numbers["chief"] = 1
    if strategy == "parameter-server":
        numbers["ps"] = rng.choice((1, 1, 2, 3, 4))
    for role in ("worker", "ps"):
        if role in numbers:
            values[role] = {"replicas": numbers[role]}
    for role, often in (("evaluator", 0.12), ("tensorboard", 0.08)):
        if rng.random() < often:
            numbers[role] = 1
            values[role] = {"enabled": True}
    sizes = _sizes(rng, list(numbers))
    gpus = _gpus(rng, strategy)
    tasks = []
    for role, number in numbers.items():
        size = sizes[role]
        asks = Amounts(size.cpu, size.memory, gpus if role == "worker" else 0)
        section = values.setdefault(role, {})
        tasks.append(_task(rng, role, number, asks, section))
    if rng.random() < 0.15:
        values["cleanup"] = {"enabled": False}
    elif {"ps", "evaluator"} & set(numbers):
        tasks.append(Task("cleanup", 1, Amounts(20, 64), Amounts(0, 256)))
    return Training(values, tuple(tasks))


def _sizes(rng: Random, roles: list[str]) -> dict[str, Amounts]:
    def any_size() -> Amounts:
        return Amounts(rng.choice(CPUS), rng.choice(MEMORIES))

    alike = any_size()
    if rng.random() < 0.4:
        return dict.fromkeys(roles, alike)
    return {role: any_size() for role in roles}


def _gpus(rng: Random, strategy: str) -> int:
    """Of a worker: more than one is for all-reduce alone."""
    if rng.random() < 0.7:
        return 0
    return rng.choice((1, 2, 4)) if strategy == "all-reduce" else 1


def _task(rng: Random, role: str, number: int, asks: Amounts, section: Object) -> Task:
    """Write what a role asks for into its section, in one of the ways that people do."""
    limits = Amounts(0, asks.memory, asks.gpus)
    requests: dict[str, Any] = {"cpu": None, "memory": None}  # those of the chart are taken away
    way = rng.random()
    if way < 0.2:  # limits alone, which are the requests then
        limits = asks
    else:
        if way < 0.6:
            limits = Amounts(rng.choice((0, asks.cpu * 2)), asks.memory * 2, asks.gpus)
        requests |= quantities(rng, Amounts(asks.cpu, asks.memory))
        if way > 0.95:
            requests["cpu"] = None
            asks, limits = Amounts(0, asks.memory, asks.gpus), Amounts(0, limits.memory, asks.gpus)
    if rng.random() < 0.06:
        requests["ephemeral-storage"] = rng.choice(("100Mi", "2Gi"))
    section["resources"] = {"requests": requests, "limits": quantities(rng, limits)}
    beside, before = Amounts(), Amounts()
    if rng.random() < 0.08:
        beside = Amounts(rng.choice((50, 200, 1000)), rng.choice((64, 500)))
        section["sidecars"] = [_container(rng, "proxy", beside)]
    if rng.random() < 0.08:
        before = Amounts(rng.choice((100, 3000)), rng.choice((100, 5000)))
        section["initContainers"] = [_container(rng, "prepare", before)]
    return Task(role, number, beside + asks.most(before), limits)


def _container(rng: Random, name: str, asks: Amounts) -> Object:
    return {
        "name": name,
        "image": IMAGE,
        "resources": {"requests": quantities(rng, asks)},
    }
