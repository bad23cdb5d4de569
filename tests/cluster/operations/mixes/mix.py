"""Draw a mix from its seed. Nothing here knows how preflight decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes import rules
from tests.cluster.operations.mixes.amounts import Amounts, quantities
from tests.cluster.operations.mixes.places import HOST, ZONE, Places, draw_places
from tests.cluster.operations.mixes.storage import Storage, draw_storage, on_one_node
from tests.cluster.operations.mixes.training import IMAGE, Training, draw_training

PRIORITY = "urgent"
"""A PriorityClass: its pods take the place of others."""

FILLING = Amounts(100, 128)
"""What pods of others in a namespace with a tight quota ask for."""
RUNTIME = "heavy"
"""A RuntimeClass with overhead."""


@dataclass(frozen=True)
class Mix:
    """Objects as the API server takes them, and the values of the training.

    The namespace and the release have the mix's name. `others` are pods of another namespace,
    `here` those of its own.
    """

    seed: int
    nodes: tuple[Object, ...]
    others: tuple[Object, ...]
    here: tuple[Object, ...]
    rules: tuple[Object, ...]
    volumes: tuple[Object, ...]
    claims: tuple[Object, ...]
    values: dict[str, Any]
    pods: int
    how: tuple[str, ...]
    """What was drawn, in words."""

    @property
    def name(self) -> str:
        """Of its namespace and its release, and the start of its nodes' names."""
        return f"mix-{self.seed}"


def draw(seed: int) -> Mix:
    """The mix of a seed, always the same."""
    rng = Random(f"mix {seed}")
    name = f"mix-{seed}"
    training = draw_training(rng)
    storage = draw_storage(rng, name)
    by_quota = rng.random() < 0.12
    many = storage.values.get("log", {}).get("accessModes") == ["ReadWriteMany"]
    together = training.mounting(many) if storage.colocates else set()
    places = draw_places(rng, name, training.tasks, together, tight=not by_quota)
    here, others = _divided(rng, places)
    allowed, how = _allowed(rng, training, here, storage, by_quota=by_quota)
    pod = places.pod
    values = training.values | {"storage": storage.values, "pod": pod}
    how += _of_the_scheduler(rng, values, storage, places)
    return Mix(
        seed=seed,
        nodes=tuple(places.nodes),
        others=tuple(others),
        here=tuple(here),
        rules=tuple(allowed),
        volumes=tuple(storage.volumes),
        claims=tuple(storage.claims),
        values=values,
        pods=sum(task.number for task in training.tasks),
        how=(*places.how, *storage.how, *how),
    )


def _divided(rng: Random, places: Places) -> tuple[list[Object], list[Object]]:
    here: list[Object] = []
    others: list[Object] = []
    for pod in places.others:
        (here if rng.random() < 0.25 else others).append(pod)
    return here, others


def _allowed(
    rng: Random, training: Training, here: list[Object], storage: Storage, *, by_quota: bool
) -> tuple[list[Object], list[str]]:
    allowed, how = [], []
    if by_quota:
        for pod in here:  # what a quota counts of them is then what they say at once
            _simplify(rng, pod)
        there = [FILLING for _ in here]
        claims = len(storage.claims) + sum(
            "accessModes" in one and "existingClaim" not in one
            for key, one in storage.values.items()
            if key != "colocate"
        )
        allowed.append(rules.tight_quota(rng, training.tasks, there, claims))
        how.append(f"quota {allowed[0]['spec']['hard']}")
    elif rng.random() < 0.06:
        allowed.append(rules.roomy_quota(rng))
        how.append(f"quota {allowed[0]['spec']['hard']}")
    if rng.random() < 0.1:
        allowed.append(rules.limit_range(rng, training.tasks))
        how.append(f"limit range {allowed[-1]['spec']['limits'][0]}")
    return allowed, how


def _simplify(rng: Random, pod: Object) -> None:
    """Let a pod ask for FILLING, in a container that says all."""
    resources = {
        "requests": quantities(rng, FILLING),
        "limits": quantities(rng, replace(FILLING, cpu=0)),
    }
    pod["spec"].pop("initContainers", None)
    pod["spec"]["containers"] = [{"name": "main", "image": IMAGE, "resources": resources}]


def _of_the_scheduler(
    rng: Random, values: dict[str, Any], storage: Storage, places: Places
) -> list[str]:
    """What else says where pods go: wishes often, rules that need more than sums seldom."""
    way = rng.random()
    if way < 0.08 and not storage.colocates:
        values["scheduling"] = {"placement": "spread"}
        return ["placement spread"]
    if way < 0.16:
        values["scheduling"] = {"placement": "binpack"}
        return ["placement binpack"]
    if way < 0.168:
        hosts = {"topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
        rule = {
            **hosts,
            "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "worker"}},
        }
        values["worker"]["topologySpreadConstraints"] = [rule]
        return ["workers have to be spread over nodes"]
    if way < 0.176:
        rule = {
            "topologyKey": rng.choice((HOST, ZONE)),
            "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "worker"}},
        }
        required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
        values["worker"]["affinity"] = values["pod"].get("affinity", {}) | required
        return ["workers keep away from each other"]
    if way < 0.184:
        values["pod"]["priorityClassName"] = PRIORITY
        return ["priority over others"]
    if way < 0.21:
        values["pod"]["runtimeClassName"] = RUNTIME
        return ["a runtime that takes something for itself"]
    if way < 0.216 and storage.volumes:
        on_one_node(storage, rng.choice(places.nodes)["metadata"]["name"])
        return ["a volume of one node"]
    return []
