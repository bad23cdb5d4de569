"""What pods ask of nodes, and whether they find room on some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tf_cluster.expand.quantity import quantity

Amounts = Mapping[str, Fraction]
"""How much of each resource."""

GPU = "gpu"
"""In a node's amounts: of whatever vendor."""
PODS = "pods"
PODS_OF_A_NODE = 110
"""Kubernetes' default."""


@dataclass(frozen=True)
class PodGroup:
    """Pods that are alike. `owner` is what makes them, `mounted` their volumes, each at /NAME.

    `template` is the pod's metadata and spec.
    """

    role: str
    count: int
    owner: str
    requests: Amounts
    limits: Amounts
    mounted: tuple[str, ...]
    template: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """`ps-0`, `worker-0…9`; a role that has one pod and no tasks by its name."""
        if self.role not in ("chief", "worker", "ps", "evaluator"):
            return self.role
        return f"{self.role}-0" + (f"…{self.count - 1}" if self.count > 1 else "")


@dataclass(frozen=True)
class Unplaced:
    """Pods that found no node, and why."""

    title: str
    count: int
    of: int
    why: str


@dataclass(frozen=True)
class Fit:
    """Pods on alike nodes: how many nodes are used, and who is left over.

    `certain` is False where pods are left over that another packing might have placed.
    """

    nodes: int
    used: int
    unplaced: tuple[Unplaced, ...]
    certain: bool = True


def amounts(given: Mapping[str, Any] | None) -> dict[str, Fraction]:
    """Quantities as exact numbers, without what is none: the chart's schema refuses that."""
    found = {}
    for name, value in (given or {}).items():
        try:
            found[name] = quantity(str(value))
        except ValueError:
            continue
    return found


def asked(template: Mapping[str, Any]) -> tuple[Amounts, Amounts]:
    """Requests and limits of a pod: its containers' and sidecars' sum, or an init container's."""
    spec = template["spec"]
    wanted: list[Amounts] = []
    for key in ("requests", "limits"):
        running = _sum([_of(one, key) for one in spec["containers"]])
        highest: dict[str, Fraction] = {}
        sidecars: dict[str, Fraction] = {}
        for one in spec.get("initContainers") or []:
            if one.get("restartPolicy") == "Always":
                sidecars = _sum([sidecars, _of(one, key)])
                at_start = sidecars
            else:
                at_start = _sum([sidecars, _of(one, key)])
            for name, value in at_start.items():
                highest[name] = max(highest.get(name, value), value)
        running = _sum([running, sidecars])
        for name, value in highest.items():
            running[name] = max(running.get(name, value), value)
        wanted.append(running)
    return wanted[0], wanted[1]


def total(groups: Sequence[PodGroup]) -> dict[str, Fraction]:
    """The sum of all requests."""
    return _sum([{n: v * group.count for n, v in group.requests.items()} for group in groups])


def packed(groups: Sequence[PodGroup], node: Amounts, nodes: int, *, colocate: bool) -> Fit:
    """Whether the pods fit on so many alike, empty nodes; a pod is whole.

    With `colocate` those that mount a claim are on one node. The largest go first, by each
    resource in turn; the first order that places all counts, else the one that places most.
    """
    node = {PODS: Fraction(PODS_OF_A_NODE), **node}
    tries = [
        _packed(groups, node, nodes, colocate, by)
        for by in ("", *sorted({name for group in groups for name in group.requests}))
    ]
    return min(tries, key=lambda fit: (sum(one.count for one in fit.unplaced), fit.used))


def _packed(groups: Sequence[PodGroup], node: Amounts, nodes: int, colocate: bool, by: str) -> Fit:
    free = [dict(node) for _ in range(nodes)]
    left = {index: group.count for index, group in enumerate(groups)}
    wants = [_on_node(group.requests, node) for group in groups]
    together = [i for i, group in enumerate(groups) if colocate and group.mounted]
    if together and free:
        for index in sorted(together, key=lambda i: _size(wants[i], node, by), reverse=True):
            left[index] -= _place(free[0], wants[index], left[index])
    shared = [dict(one) for one in free[:1]]  # before others take of it, too
    rest = [index for index in left if index not in together]
    for index in sorted(rest, key=lambda i: _size(wants[i], node, by), reverse=True):
        for one in free:
            if not left[index]:
                break
            left[index] -= _place(one, wants[index], left[index])
    unplaced = []
    for index, count in left.items():
        if count:
            group = groups[index]
            places = shared if index in together else free
            why = _why(wants[index], node, places, index in together)
            unplaced.append(Unplaced(group.title, count, group.count, why))
    full = dict(node)
    used = sum(one != full for one in free)
    counted = [(want, group.count) for want, group in zip(wants, groups, strict=True)]
    certain = (
        not unplaced
        or any(_is_too_large(want, node) for want in wants)
        or _is_too_much(counted, node, nodes)
        or _is_too_much([counted[index] for index in together], node, 1)
    )
    return Fit(nodes, used, tuple(unplaced), certain)


def _is_too_large(want: Amounts, node: Amounts) -> bool:
    return any(value > node.get(name, 0) for name, value in want.items())


def _is_too_much(pods: Sequence[tuple[Amounts, int]], node: Amounts, nodes: int) -> bool:
    """Whether pods ask for more of a resource than all the nodes have."""
    asked = _sum([{n: value * count for n, value in want.items()} for want, count in pods])
    return any(value > node.get(name, 0) * nodes for name, value in asked.items())


def _place(free: dict[str, Fraction], wants: Amounts, most: int) -> int:
    """Put as many such pods as fit on a node, `most` at most; return how many."""
    fits = min((free.get(name, Fraction(0)) // value for name, value in wants.items() if value))
    count = min(int(fits), most)
    for name, value in wants.items() if count else ():
        if value:
            free[name] -= value * count
    return count


def _on_node(requests: Amounts, node: Amounts) -> dict[str, Fraction]:
    """What a pod takes of a node, by the node's names: `gpu` there is a GPU of any vendor.

    A resource that the node does not name counts if it is a device; how much there is of the disk,
    say, is not known.
    """
    found = {PODS: Fraction(1)}
    for name, value in requests.items():
        if name in node or "/" in name or name in ("cpu", "memory"):
            key = GPU if name not in node and _is_gpu(name) and GPU in node else name
            if key in node or "/" in name:
                found[key] = found.get(key, Fraction(0)) + value
    return found


def _is_gpu(name: str) -> bool:
    return "/" in name and (GPU in name or "/mig-" in name)


def _size(wants: Amounts, node: Amounts, by: str) -> Fraction:
    """How large a pod is: its share of a node by one resource, or by the one it takes most of."""
    shares = {name: value / node[name] for name, value in wants.items() if node.get(name)}
    return shares.get(by, Fraction(0)) if by else max(shares.values(), default=Fraction(0))


def _why(wants: Amounts, node: Amounts, free: Sequence[Amounts], together: bool) -> str:
    for name, value in wants.items():
        there = node.get(name, Fraction(0))
        if value > there:
            return f"asks for {plain(name, value)} of {name}, a node has {plain(name, there)}"
    if not free:
        return "there are no nodes"
    lacking = {
        name: sum(one.get(name, Fraction(0)) < value for one in free)
        for name, value in wants.items()
        if value
    }
    worst = max(lacking, key=lambda name: lacking[name])
    most = plain(worst, max(one.get(worst, Fraction(0)) for one in free))
    where = "the node that has most of it"
    if together:
        where = "the one node that all who mount a claim share"
    return f"asks for {plain(worst, wants[worst])} of {worst}, {most} is left on {where}"


def plain(name: str, value: Fraction) -> str:
    """An amount for people: `250m`, `2`, `1.5Gi`."""
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        for power, unit in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
            if value >= 1024**power:
                return f"{float(value / 1024**power):.4g}{unit}"
        return str(int(value))
    if value.denominator != 1 and value < 10:
        return f"{float(value * 1000):g}m"
    return f"{float(value):g}" if value.denominator != 1 else str(int(value))


def _of(container: Mapping[str, Any], key: str) -> dict[str, Fraction]:
    """One container's requests or limits. A limit alone is the request, too."""
    given = container.get("resources") or {}
    if key == "limits":
        return amounts(given.get("limits"))
    return {**amounts(given.get("limits")), **amounts(given.get("requests"))}


def _sum(parts: Sequence[Amounts]) -> dict[str, Fraction]:
    result: dict[str, Fraction] = {}
    for part in parts:
        for name, value in part.items():
            result[name] = result.get(name, Fraction(0)) + value
    return result
