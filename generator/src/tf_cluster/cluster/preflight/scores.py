"""Which of the nodes that would take a pod the scheduler likes best: its default scores.

What the plugins of kube-scheduler's default profile reckon, with their weights. A pod goes to a
node of the highest score; among equal ones by chance.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from tf_cluster.cluster.preflight.rooms import Bound, Room, matches
from tf_cluster.cluster.preflight.terms import (
    Json,
    Whole,
    containers,
    disliked_taints,
    reckoned_requests,
    selects,
    term_chooses,
)
from tf_cluster.cluster.preflight.wanted import Wanted

_HOSTNAME = "kubernetes.io/hostname"
_SPREAD_BY_DEFAULT = ((_HOSTNAME, 3), ("topology.kubernetes.io/zone", 5))
"""Where pods of a Service have no rule of spreading: the label and the skew."""
_LEAST_IMAGE, _MOST_IMAGE = 23 << 20, 1000 << 20
"""An image that is smaller, or larger by container, does not count, or no more."""
_COUNTED = ("cpu", "memory")


@dataclass(frozen=True)
class Spread:
    """A rule of spreading that is a wish: whose pods it counts, and how many are there already.

    `domains` has each node's value of the label.
    """

    skew: int
    groups: frozenset[int]
    there: Mapping[str | None, int]
    domains: tuple[str | None, ...]
    by_host: bool
    is_everywhere: bool


@dataclass(frozen=True)
class Taste:
    """What a group likes, as far as that does not change while pods are placed; by node.

    `pulls` are the weights, by label, that a placed pod of another group has for this one. What
    is the same for all nodes is empty.
    """

    images: tuple[int, ...]
    taints: tuple[int, ...]
    wishes: tuple[int, ...]
    spreads: tuple[Spread, ...]
    needs_keys: bool
    first_apart: bool
    pulls: Mapping[int, tuple[tuple[str, int], ...]]
    pulled: Mapping[tuple[str, str], int]
    reckoned: Whole


def tastes(rooms: Sequence[Room], pods: Sequence[Bound], groups: Sequence[Wanted]) -> list[Taste]:
    """The taste of each group."""
    images = _images(rooms)
    return [_taste(rooms, pods, groups, group, images) for group in groups]


def _taste(
    rooms: Sequence[Room],
    pods: Sequence[Bound],
    groups: Sequence[Wanted],
    group: Wanted,
    images: Mapping[str, tuple[int, frozenset[str]]],
) -> Taste:
    spec = group.spec
    own = spec.get("topologySpreadConstraints")
    return Taste(
        images=_differing(_image_scores(rooms, group, images)),
        taints=_differing([disliked_taints(spec, room.spec) for room in rooms]),
        wishes=_differing([_wishes(spec, room) for room in rooms]),
        spreads=_spreads(rooms, pods, groups, group),
        needs_keys=bool(own),
        first_apart=group.first_apart and not own,
        pulls=_pulls(groups, group),
        pulled=_pulled(rooms, pods, group),
        reckoned=reckoned_requests(group.template, group.takes),
    )


class Scores:
    """The scores of one try, while pods are placed.

    `plain` leaves out what Kubernetes 1.36 reckons of a node without the pod.
    """

    def __init__(self, rooms: Sequence[Room], of: Sequence[Taste], *, plain: bool) -> None:
        self._rooms = rooms
        self._tastes = of
        self._plain = plain
        self._taken = [
            {name: room.allocatable.get(name, 0) - room.free.get(name, 0) for name in _COUNTED}
            for room in rooms
        ]
        self._reckoned = [{name: room.reckoned.get(name, 0) for name in _COUNTED} for room in rooms]
        self._counts = [[Counter(rule.there) for rule in taste.spreads] for taste in of]
        self._pulled = [Counter(taste.pulled) for taste in of]
        self._choosy = [number for number, one in enumerate(of) if one.spreads or one.pulls]
        self._placed: Counter[int] = Counter()
        self._known: list[dict[int, int]] = [{} for _ in of]

    def put(self, index: int, takes: Whole, node: int) -> None:
        """A pod of a group has been placed."""
        for name in _COUNTED:
            self._taken[node][name] += takes.get(name, 0)
            self._reckoned[node][name] += self._tastes[index].reckoned.get(name, 0)
        self._placed[index] += 1
        for known in self._known:
            known.pop(node, None)
        labels = self._rooms[node].labels
        for number in self._choosy:
            taste, counts = self._tastes[number], self._counts[number]
            for rule, there in zip(taste.spreads, counts, strict=True):
                if index in rule.groups:
                    there[rule.domains[node]] += 1
            for key, weight in taste.pulls.get(index, ()):
                if key in labels:
                    self._pulled[number][key, labels[key]] += weight

    def best(self, index: int, takes: Whole, nodes: Sequence[int]) -> list[int]:
        """Those of some nodes that a pod of a group may go to."""
        if len(nodes) == 1:
            return list(nodes)
        taste, known = self._tastes[index], self._known[index]
        found = []
        for node in nodes:
            if node not in known:
                known[node] = self._of_resources(index, takes, node)
            found.append(known[node])
        for weight, scores in (
            (1, _of(taste.images, nodes)),
            (3, _share(_of(taste.taints, nodes), less_is_better=True)),
            (2, _share(_of(taste.wishes, nodes))),
            (2, self._of_spreading(index, nodes)),
            (2, self._of_neighbours(index, nodes)),
        ):
            if scores:
                found = [score + weight * one for score, one in zip(found, scores, strict=True)]
        highest = max(found)
        return [node for node, score in zip(nodes, found, strict=True) if score == highest]

    def _of_resources(self, index: int, takes: Whole, node: int) -> int:
        allocatable = self._rooms[node].allocatable
        reckoned, taken = self._reckoned[node], self._taken[node]
        there = {name: allocatable.get(name, 0) for name in _COUNTED}
        counted = [name for name in _COUNTED if there[name]]
        if not counted:
            return 0
        left = [
            max(there[name] - reckoned[name] - self._tastes[index].reckoned.get(name, 0), 0)
            * 100
            // there[name]
            for name in counted
        ]
        least_taken = sum(left) // len(counted)
        if not any(takes.get(name) for name in _COUNTED):
            return least_taken
        after = _balance([(taken[name] + takes.get(name, 0)) / there[name] for name in counted])
        if self._plain:
            return least_taken + after
        before = _balance([taken[name] / there[name] for name in counted])
        # As Go divides: towards 0.
        return least_taken + 50 + int((50 + after - before) / 2)

    def _of_spreading(self, index: int, nodes: Sequence[int]) -> list[int]:
        taste, counts = self._tastes[index], self._counts[index]
        rules = list(zip(taste.spreads, counts, strict=True))
        if taste.first_apart and not self._placed[index]:
            return []
        if all(rule.is_everywhere and not any(there.values()) for rule, there in rules):
            return []
        left_out = [
            taste.needs_keys and any(rule.domains[node] is None for rule in taste.spreads)
            for node in nodes
        ]
        raw = [0.0] * len(nodes)
        for rule, there in rules:
            domains = [rule.domains[node] for node in nodes]
            inside = [one for one, out in zip(domains, left_out, strict=True) if not out]
            weight = log((len(inside) if rule.by_host else len(set(inside))) + 2)
            for at, domain in enumerate(domains):
                if domain is not None:
                    raw[at] += there[domain] * weight + rule.skew - 1
        whole = [int(one + 0.5) for one in raw]
        seen = [one for one, out in zip(whole, left_out, strict=True) if not out]
        if not seen:
            return []
        low, high = min(seen), max(seen)
        return [
            0 if out else 100 * (high + low - one) // high if high else 100
            for one, out in zip(whole, left_out, strict=True)
        ]

    def _of_neighbours(self, index: int, nodes: Sequence[int]) -> list[int]:
        pulled = self._pulled[index]
        if not pulled:
            return []
        keys = {key for key, _ in pulled}
        raw = []
        for node in nodes:
            labels = self._rooms[node].labels
            raw.append(sum(pulled[key, labels[key]] for key in keys if key in labels))
        low, high = min(raw), max(raw)
        return [int(100 * (one - low) / (high - low)) if high > low else 0 for one in raw]


def _balance(shares: Sequence[float]) -> int:
    """100 where as much is taken of one resource as of the other."""
    capped = [min(share, 1.0) for share in shares]
    apart = abs(capped[0] - capped[1]) / 2 if len(capped) > 1 else 0.0
    return int((1 - apart) * 100)


def _share(amounts: Sequence[int], *, less_is_better: bool = False) -> list[int]:
    """Of the greatest, in hundredths; nothing where all are alike."""
    high = max(amounts, default=0)
    if high == min(amounts, default=0):
        return []
    shares = [100 * one // high for one in amounts]
    return [100 - one for one in shares] if less_is_better else shares


def _of(by_node: Sequence[int], nodes: Sequence[int]) -> list[int]:
    return [by_node[node] for node in nodes] if by_node else []


def _differing(amounts: Sequence[int]) -> tuple[int, ...]:
    return tuple(amounts) if len(set(amounts)) > 1 else ()


def _wishes(spec: Json, room: Room) -> int:
    """The weights of the preferred node affinity that a node meets."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return sum(
        int(one["weight"])
        for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        if term_chooses({"nodeSelectorTerms": [one["preference"]]}, room.name, room.labels)
    )


def _spreads(
    rooms: Sequence[Room], pods: Sequence[Bound], groups: Sequence[Wanted], group: Wanted
) -> tuple[Spread, ...]:
    own = group.spec.get("topologySpreadConstraints") or ()
    rules: list[tuple[str, int, Any]] = [
        (one["topologyKey"], int(one["maxSkew"]), _with_keys(one, group.labels))
        for one in own
        if one.get("whenUnsatisfiable") == "ScheduleAnyway"
    ]
    if not own and group.served:
        rules = [(key, skew, {"matchLabels": group.served}) for key, skew in _SPREAD_BY_DEFAULT]
    numbers = {room.name: number for number, room in enumerate(rooms)}
    found = []
    for key, skew, selector in rules:
        domains = tuple(room.labels.get(key) for room in rooms)
        there: Counter[str | None] = Counter()
        for pod in pods:
            if pod.node in numbers and pod.namespace == group.namespace:
                there[domains[numbers[pod.node]]] += selects(selector, pod.labels)
        counted = frozenset(
            number
            for number, other in enumerate(groups)
            if other.namespace == group.namespace and selects(selector, other.labels)
        )
        found.append(Spread(skew, counted, there, domains, key == _HOSTNAME, None not in domains))
    return tuple(found)


def _with_keys(rule: Json, labels: Mapping[str, str]) -> Json:
    """Its selector, with the pod's own values of matchLabelKeys."""
    selector = rule.get("labelSelector") or {}
    more = {key: labels[key] for key in rule.get("matchLabelKeys") or () if key in labels}
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **more}}


def _preferred(group: Wanted) -> Iterable[tuple[Json, int]]:
    """Terms of preferred pod affinity with their weights; those of anti-affinity are negative."""
    affinity = group.spec.get("affinity") or {}
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        rules = affinity.get(kind) or {}
        for one in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield one["podAffinityTerm"], sign * int(one["weight"])


def _pulls(groups: Sequence[Wanted], group: Wanted) -> dict[int, tuple[tuple[str, int], ...]]:
    """Both ways: what the group wishes of the other's pods, and what these wish of its own."""
    found = {}
    for number, other in enumerate(groups):
        pulls = [
            (term["topologyKey"], weight)
            for term, weight in _preferred(group)
            if matches(term, group.namespace, other.namespace, other.labels)
        ]
        pulls += [
            (term["topologyKey"], weight)
            for term, weight in (*_preferred(other), *((one, 1) for one in other.affinity))
            if matches(term, other.namespace, group.namespace, group.labels)
        ]
        if pulls:
            found[number] = tuple(pulls)
    return found


def _pulled(
    rooms: Sequence[Room], pods: Sequence[Bound], group: Wanted
) -> dict[tuple[str, str], int]:
    """What the group wishes of pods that are on nodes already."""
    places = {room.name: room.labels for room in rooms}
    found: Counter[tuple[str, str]] = Counter()
    for term, weight in _preferred(group):
        for pod in pods:
            value = places.get(pod.node, {}).get(term["topologyKey"])
            if value and matches(term, group.namespace, pod.namespace, pod.labels):
                found[term["topologyKey"], value] += weight
    return dict(found)


def _images(rooms: Sequence[Room]) -> dict[str, tuple[int, frozenset[str]]]:
    """How large each image is, and which nodes have it."""
    sizes: dict[str, int] = {}
    where: dict[str, set[str]] = {}
    for room in rooms:
        for image in room.images:
            for name in image.get("names") or ():
                sizes[name] = int(image.get("sizeBytes") or 0)
                where.setdefault(name, set()).add(room.name)
    return {name: (size, frozenset(where[name])) for name, size in sizes.items()}


def _image_scores(
    rooms: Sequence[Room],
    group: Wanted,
    images: Mapping[str, tuple[int, frozenset[str]]],
) -> tuple[int, ...]:
    """More where the images are already."""
    every = containers(group.spec)
    sums = [0] * len(rooms)
    for container in every:
        size, where = images.get(_named(str(container.get("image", ""))), (0, frozenset()))
        for number, room in enumerate(rooms):
            if room.name in where:
                sums[number] += size * len(where) // len(rooms)
    most = _MOST_IMAGE * len(every)
    return tuple(
        100 * (min(max(one, _LEAST_IMAGE), most) - _LEAST_IMAGE) // (most - _LEAST_IMAGE)
        for one in sums
    )


def _named(image: str) -> str:
    """An image's name with its tag: the kubelet names none without."""
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"
