"""Draw nodes, who runs there already, and which of them a training may take.

The room is made for the training's pods, more or less of it, and then often taken away a little:
so that many mixes fit closely, and about as many just do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from tests.cluster.fake_nodes import EXIT
from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes.amounts import GPU, Amounts, quantities, total
from tests.cluster.operations.mixes.training import IMAGE, Task

OWNER = "tf-cluster.io/test-mix"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
POOLS: dict[str, dict[str, Any]] = {
    "plain": {"labels": {"disk": "hdd", "generation": "3"}, "taints": []},
    "fast": {"labels": {"disk": "ssd", "generation": "7"}, "taints": []},
    "own": {
        "labels": {"disk": "ssd", "generation": "5", "team": "vision"},
        "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    },
    "gpu": {
        "labels": {"disk": "ssd", "generation": "9", "accelerator": "a100"},
        "taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}],
    },
    "leaving": {
        "labels": {"generation": "1"},
        "taints": [{"key": "leaving", "value": "soon", "effect": "NoExecute"}],
    },
    "disliked": {
        "labels": {"disk": "hdd"},
        "taints": [{"key": "slow", "effect": "PreferNoSchedule"}],
    },
}


NOBODY = "a-scheduler-that-is-not-there"


@dataclass(frozen=True)
class Room:
    """What is free on a node, for how many pods, and of which pool it is."""

    pool: str
    free: Amounts
    pods: int = 110
    unschedulable: bool = False
    taints: tuple[Object, ...] = ()


@dataclass
class Places:
    """Nodes, the pods of others, and what the training's pods say of where they go."""

    nodes: list[Object] = field(default_factory=list)
    others: list[Object] = field(default_factory=list)
    pod: dict[str, Any] = field(default_factory=dict)
    how: list[str] = field(default_factory=list)
    """What was drawn, in words."""


def draw_places(
    rng: Random, name: str, tasks: tuple[Task, ...], together: set[str], tight: bool
) -> Places:
    """At most 12 nodes. `together` are the roles that have to share one.

    Not `tight`: there is room for all, and nobody in the way.
    """
    places = Places()
    pools = rng.sample(list(POOLS), rng.choice((1, 1, 2, 3)))
    home = pools[0]
    may_go = _rules(rng, name, home, places)
    everyone = total([task.asks * task.number for task in tasks])
    if tight:
        rooms = _rooms(rng, home, tasks, together, places.how)
        if rng.random() < 0.4:
            rooms = _hurt(rng, rooms, tasks, together, places.how)
    else:
        rooms = [Room(home, everyone * 2)] * rng.choice((1, 2, 3))
    for pool in pools[1:]:  # more room, where the training may or may not go
        for _ in range(rng.choice((1, 1, 2))):
            little = Amounts(rng.choice((100, 1000, 4000)), rng.choice((200, 2000, 16000)))
            if together and "nodeSelector" not in places.pod:
                # With more it were chance where the first of them goes, and all the others with it.
                rooms.append(Room(pool, Amounts(10, 16)))
            else:
                rooms.append(Room(pool, rng.choice((little, everyone * 2))))
    if not may_go:
        places.how.append(f"the pool {home} is not open to it")
    rng.shuffle(rooms)
    for index, room in enumerate(rooms[:12]):
        _furnish(rng, f"{name}-{index}", name, room, places)
    if rng.random() < 0.18:
        places.others.append(_pending(rng, f"{name}-waits", places.how))
    if together:  # where only one of several nodes that are alike will do, chance decides
        disk = places.nodes[0]["status"]["allocatable"]["ephemeral-storage"]
        for node in places.nodes:
            node["status"]["allocatable"]["ephemeral-storage"] = disk
    _label(rng, places)
    return places


def _label(rng: Random, places: Places) -> None:
    """Seldom a node has no host name, or another one than its own."""
    way = rng.random()
    if way > 0.05:
        return
    labels = rng.choice(places.nodes)["metadata"]["labels"]
    if way < 0.02:
        del labels[HOST]
        places.how.append("a node without the label of its host name")
    else:
        labels[HOST] = f"{labels[HOST]}.example"


def _rooms(
    rng: Random, home: str, tasks: tuple[Task, ...], together: set[str], how: list[str]
) -> list[Room]:
    """Nodes with about the room that the pods need, in one of several ways."""
    number = rng.choice((1, 2, 2, 3, 4, 5, 7, 9))
    if together and rng.random() < 0.85:
        return [Room(home, _for_one_node(rng, tasks, together, how))] * number
    slots = _slots(rng, tasks, number, how) if rng.random() < 0.65 else []
    if slots:
        return [Room(home, free) for free in slots]
    free = _shares(rng, tasks, number, together)
    sizes = {task.asks for task in tasks if task.role != "cleanup"}
    slack = rng.choices(SLACKS, CLOSE if len(sizes) == 1 else LOOSE)[0]
    how.append(f"{number} nodes with {slack} times the room")
    return [Room(home, one * slack) for one in free]


SLACKS = (1.0, 1.02, 1.1, 1.25, 1.5, 2.0, 3.0)
CLOSE: tuple[float, ...] = (2, 2, 2, 2, 2, 2, 1)
LOOSE: tuple[float, ...] = (0.4, 0.4, 0.4, 1, 3, 14, 22)
"""How often: pods of one size fill nodes to the last, those of several have a little more mostly.
Else chance decides over most mixes: which pod the scheduler takes first."""


def _for_one_node(
    rng: Random, tasks: tuple[Task, ...], together: set[str], how: list[str]
) -> Amounts:
    """What a node needs that those take who have to share one: a little less, or more."""
    sharing = total([task.asks * task.number for task in tasks if task.role in together])
    if rng.random() < 0.4:
        how.append("no node has room for all that have to share one")
        part = rng.choice((0.5, 0.9, 0.99))
        return rng.choice((sharing * part, replace(sharing, memory=int(sharing.memory * part))))
    how.append("each node has room for all that have to share one")
    everyone = total([task.asks * task.number for task in tasks])
    return everyone * rng.choice((1.0, 1.0, 1.2, 2.0))


def _slots(rng: Random, tasks: tuple[Task, ...], number: int, how: list[str]) -> list[Amounts]:
    """Nodes with whole places for workers, as many as there are, or one more or less.

    The other pods have their own room on each. Nothing where that is room for a worker, too.
    """
    [worker] = [task for task in tasks if task.role == "worker"]
    rest = total([task.asks * task.number for task in tasks if task.role != "worker"])
    asks = worker.asks
    if rest.cpu >= asks.cpu and rest.memory >= asks.memory and rest.gpus >= asks.gpus:
        return []
    places = max(worker.number + rng.choice((-2, -1, -1, 0, 0, 0, 1, 2)), 0)
    how.append(f"{places} places for {worker.number} workers on {number} nodes")
    return [rest + asks * (places // number + (index < places % number)) for index in range(number)]


def _shares(rng: Random, tasks: tuple[Task, ...], number: int, together: set[str]) -> list[Amounts]:
    """Nodes with the room of some pods each, so that there is one way at least to place all."""
    shares: list[list[Amounts]] = [[] for _ in range(number)]
    one = rng.choice(shares)
    pods = [task for task in tasks for _ in range(task.number)]
    rng.shuffle(pods)
    for index, task in enumerate(pods):
        share = one if task.role in together else shares[index % number]
        share.append(task.asks)
    least = Amounts(100, 128)
    if together or rng.random() < 0.6:
        return [total(share).most(least) for share in shares]
    largest = least  # nodes that are alike
    for task in tasks:
        largest = largest.most(task.asks)
    part = total([task.asks for task in pods]) * (1 / number)
    return [part.most(largest)] * number


def _hurt(
    rng: Random, rooms: list[Room], tasks: tuple[Task, ...], together: set[str], how: list[str]
) -> list[Room]:
    """Take a little away, of one node or of all."""
    task = rng.choice(tasks)
    part = rng.choice((0.1, 0.5, 1.0))
    by = {
        "cpu": Amounts(cpu=int(task.asks.cpu * part)),
        "memory": Amounts(memory=int(task.asks.memory * part)),
        "gpus": Amounts(gpus=1),
    }
    pods = rng.choice((0, 1, 2, 3))
    hurts: dict[str, Callable[[Room], Room]] = {
        **{kind: partial(_without, amounts) for kind, amounts in by.items()},
        "pods": lambda room: replace(room, pods=pods),
        "unschedulable": lambda room: replace(room, unschedulable=True),
        "taint": lambda room: replace(room, taints=({"key": "broken", "effect": "NoSchedule"},)),
    }
    if not task.asks.gpus:
        del hurts["gpus"]
    if together:
        del hurts["pods"]
    kind = rng.choice(list(hurts))
    if kind in by and rng.random() < 0.5:
        how.append(f"too little {kind} for {task.role} on every node")
        return [replace(room, free=_below(room.free, kind, task.asks)) for room in rooms]
    if together and kind not in ("unschedulable", "taint"):
        how.append(f"less {kind} on every node")
        return [hurts[kind](room) for room in rooms]
    index = rng.randrange(len(rooms))
    how.append(f"less on a node: {kind}")
    return [hurts[kind](room) if at == index else room for at, room in enumerate(rooms)]


def _below(free: Amounts, kind: str, asks: Amounts) -> Amounts:
    """A little less of a resource than one pod asks for."""
    most = {"cpu": asks.cpu - 1, "memory": asks.memory - 1, "gpus": asks.gpus - 1}[kind]
    return replace(free, **{kind: max(min(getattr(free, kind), most), 0)})


def _without(amounts: Amounts, room: Room) -> Room:
    return replace(room, free=_less(room.free, amounts))


def _less(free: Amounts, by: Amounts) -> Amounts:
    left = Amounts(free.cpu - by.cpu, free.memory - by.memory, free.gpus - by.gpus)
    return left.most(Amounts(10, 16))


def _furnish(rng: Random, node: str, mix: str, room: Room, places: Places) -> None:
    """A node, and pods that leave just the room free."""
    used = []
    for index in range(rng.choice((0, 0, 1, 1, 2, 3))):
        asks = Amounts(rng.choice((100, 250, 1000)), rng.choice((128, 1000, 4096)))
        if room.free.gpus and rng.random() < 0.3:
            asks += Amounts(gpus=1)
        used.append(asks)
        places.others.append(_runs(rng, f"{node}-{index}", node, asks))
    if rng.random() < 0.15:  # what has ended takes nothing
        ended = _runs(rng, f"{node}-ended", node, Amounts(1000, 2048))
        ended["metadata"]["annotations"] = {EXIT: "0"}
        places.others.append(ended)
    pool = POOLS[room.pool]
    all_of_it = total([room.free, *used])
    number = room.pods if room.pods == 110 else room.pods + len(used)
    disk = {"ephemeral-storage": rng.choice(("100Gi", "100Gi", "500Mi"))}
    allocatable = quantities(rng, all_of_it) | {"pods": str(number)} | disk
    kept_back = Amounts(rng.choice((0, 100, 2000)), rng.choice((0, 512, 8192)))
    spec: dict[str, Any] = {"taints": [*pool["taints"], *room.taints]}
    if room.unschedulable:
        spec["unschedulable"] = True
    labels = {
        HOST: node,
        "kubernetes.io/os": "linux",
        ZONE: rng.choice(("north", "south")),
        "pool": room.pool,
        OWNER: mix,
        **pool["labels"],
    }
    places.nodes.append(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node, "labels": labels},
            "spec": spec,
            "status": {
                "allocatable": allocatable,
                "capacity": allocatable | quantities(rng, all_of_it + kept_back),
            },
        }
    )


def _runs(rng: Random, name: str, node: str, asks: Amounts) -> Object:
    """A pod of others on a node, that asks for so much in one of several ways."""
    request = {"requests": quantities(rng, Amounts(asks.cpu, asks.memory))}
    if asks.gpus:
        request["limits"] = {GPU: str(asks.gpus)}
    little = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    main = {"name": "main", "image": IMAGE, "resources": request}
    spec: dict[str, Any] = {"containers": [main]}
    way = rng.random()
    if way < 0.15:  # limits alone are the requests
        main["resources"] = {"limits": quantities(rng, asks)}
    elif way < 0.3:  # the first container counts while it is more than the others
        before = {"name": "before", "image": IMAGE, "resources": request}
        spec = {"initContainers": [before], "containers": [{**main, "resources": little}]}
    elif way < 0.4 and asks.cpu > 10:
        half = Amounts(asks.cpu // 2, asks.memory // 2)
        rest = Amounts(asks.cpu - half.cpu, asks.memory - half.memory, asks.gpus)
        beside = {
            "name": "beside",
            "image": IMAGE,
            "resources": {"requests": quantities(rng, half)},
            "restartPolicy": "Always",
        }
        main["resources"] = {"limits": quantities(rng, rest)}
        spec = {"initContainers": [beside], "containers": [main]}
    return _pod(name, {**spec, "nodeName": node, "tolerations": [{"operator": "Exists"}]})


def _pending(rng: Random, name: str, how: list[str]) -> Object:
    """A pod that a scheduler still has to place: too large, held back, or another's."""
    how.append("a pod of others waits")
    asks = Amounts(rng.choice((3000, 900_000)), rng.choice((4096, 900_000_000)))
    container = {
        "name": "main",
        "image": IMAGE,
        "resources": {"requests": quantities(rng, asks)},
    }
    more: list[dict[str, Any]] = [
        {},
        {"schedulingGates": [{"name": "example.com/held-back"}]},
        {"schedulerName": NOBODY},
    ]
    return _pod(name, {"containers": [container], **rng.choices(more, (8, 1, 1))[0]})


def _pod(name: str, spec: dict[str, Any]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def _rules(rng: Random, name: str, home: str, places: Places) -> bool:
    """What the pods say of nodes, so that the pool is open to them, mostly."""
    pool, labels = POOLS[home], POOLS[home]["labels"]
    tolerations = []
    opened = rng.random() < 0.93
    for taint in pool["taints"]:
        if not opened:
            tolerations.append({**taint, "operator": "Equal", "value": "another"})
        else:
            tolerations.append(_toleration(rng, taint))
    way = rng.random()
    if way < 0.25:
        places.pod["nodeSelector"] = {"pool": home}
    elif way < 0.35 and "disk" in labels:
        places.pod["nodeSelector"] = {"disk": labels["disk"]}
    elif way < 0.6:
        places.pod["affinity"] = {"nodeAffinity": _node_affinity(rng, name, home)}
    if tolerations:
        places.pod["tolerations"] = tolerations
    elif rng.random() < 0.1:
        places.pod["tolerations"] = [{"operator": "Exists"}]
    hard = {taint["effect"] for taint in pool["taints"]} - {"PreferNoSchedule"}
    return opened or not hard


def _toleration(rng: Random, taint: Object) -> Object:
    ways: list[Object] = [
        {"key": taint["key"], "operator": "Exists"},
        {"key": taint["key"], "operator": "Exists", "effect": taint["effect"]},
        {"operator": "Exists", "effect": taint["effect"]},
    ]
    if "value" in taint:
        ways.append({"key": taint["key"], "value": taint["value"], "effect": taint["effect"]})
        ways.append({"key": taint["key"], "operator": "Equal", "value": taint["value"]})
    return rng.choice(ways)


def _node_affinity(rng: Random, name: str, home: str) -> Object:
    labels = POOLS[home]["labels"]
    others = [pool for pool in POOLS if pool != home]
    rules: list[list[Object]] = [
        [{"key": "pool", "operator": "In", "values": [home, rng.choice(others)]}],
        [{"key": "pool", "operator": "NotIn", "values": [rng.choice(others)]}],
        [{"key": "pool", "operator": "Exists"}, {"key": "absent", "operator": "DoesNotExist"}],
        [{"key": next(iter(labels)), "operator": "Exists"}],
    ]
    if "generation" in labels:
        generation = int(labels["generation"])
        rules.append([{"key": "generation", "operator": "Gt", "values": [str(generation - 1)]}])
        rules.append([{"key": "generation", "operator": "Lt", "values": [str(generation + 1)]}])
    terms: list[Object] = [{"matchExpressions": rng.choice(rules)}]
    if rng.random() < 0.1:
        one = {"key": "metadata.name", "operator": "NotIn", "values": [f"{name}-0"]}
        terms[0]["matchFields"] = [one]
    if rng.random() < 0.3:
        terms.append({"matchExpressions": [{"key": "absent", "operator": "Exists"}]})
        rng.shuffle(terms)
    affinity: Object = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
    }
    if rng.random() < 0.3:
        preferred = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 50, "preference": preferred}
        ]
    return affinity
