"""Places pods one after the other, as Kubernetes' scheduler does: what is placed never moves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from tf_cluster.cluster.preflight.rooms import Bound, Room, matches
from tf_cluster.cluster.preflight.scores import Scores, Taste, tastes
from tf_cluster.cluster.preflight.wanted import Wanted

_FEW_NODES = 100
"""With more nodes the scheduler looks at a part of them (percentageOfNodesToScore)."""


@dataclass(frozen=True)
class Board:
    """Rooms, pods on them, and groups of pods to place, with what never changes looked up once.

    `pods` are on the rooms already.

    `closed[group][node]`: why a node is closed to a group; empty where it is open.
    """

    rooms: Sequence[Room]
    groups: Sequence[Wanted]
    closed: Sequence[Sequence[str]]
    attracted: Mapping[tuple[int, int], Counter[str]]
    repelled: Mapping[tuple[int, int], Counter[str]]
    blocked: Sequence[frozenset[int]]
    pods: Sequence[Bound]

    @cached_property
    def tastes(self) -> list[Taste]:
        """What each group likes: of use to who scores, and dear."""
        return tastes(self.rooms, self.pods, self.groups)

    def domain(self, node: int, key: str) -> str | None:
        """The value of a topology's label on a node."""
        return self.rooms[node].labels.get(key)

    def alike(self, key: str, value: str | None) -> frozenset[int]:
        """The nodes of a domain."""
        if value is None:
            return frozenset()
        return frozenset(
            number for number, room in enumerate(self.rooms) if room.labels.get(key) == value
        )


def board(rooms: Sequence[Room], pods: Sequence[Bound], groups: Sequence[Wanted]) -> Board:
    """The board before the first pod is placed."""
    numbers = {room.name: number for number, room in enumerate(rooms)}
    attracted: dict[tuple[int, int], Counter[str]] = {}
    repelled: dict[tuple[int, int], Counter[str]] = {}
    repelling = [pod for pod in pods if pod.repulsion]
    for index, group in enumerate(groups):
        for terms, into in ((group.affinity, attracted), (group.repulsion, repelled)):
            for number, term in enumerate(terms):
                found: Counter[str] = Counter()
                for pod in pods:
                    if pod.node in numbers and matches(
                        term, group.namespace, pod.namespace, pod.labels
                    ):
                        value = rooms[numbers[pod.node]].labels.get(term["topologyKey"])
                        if value is not None:
                            found[value] += 1
                into[index, number] = found
    closed = [[room.keeps_off(group) for room in rooms] for group in groups]
    empty = Board(rooms, groups, closed, attracted, repelled, (), pods)
    blocked = [_blocked(empty, group, numbers, repelling) for group in groups]
    return replace(empty, blocked=blocked)


def _blocked(
    on: Board, group: Wanted, numbers: Mapping[str, int], repelling: Sequence[Bound]
) -> frozenset[int]:
    """The nodes that pods which are there keep a group off."""
    shut: set[int] = set()
    for pod in repelling:
        for term in pod.repulsion:
            if pod.node in numbers and matches(term, pod.namespace, group.namespace, group.labels):
                key = term["topologyKey"]
                shut |= on.alike(key, on.domain(numbers[pod.node], key))
    return frozenset(shut)


class Placing:
    """One try. `free` is what each node has left."""

    def __init__(self, on: Board, random: Random, *, by_score: bool, plain: bool = False) -> None:
        self._board = on
        self._random = random
        self._scores = Scores(on.rooms, on.tastes, plain=plain) if by_score else None
        self.free = [dict(room.free) for room in on.rooms]
        self._attracted = {key: Counter(found) for key, found in on.attracted.items()}
        self._repelled = {key: Counter(found) for key, found in on.repelled.items()}
        self._shut = [set(found) for found in on.blocked]
        self._start = 0
        self._choosy = [
            (index, group)
            for index, group in enumerate(on.groups)
            if group.affinity or group.repulsion
        ]
        self.unplaced: Counter[int] = Counter()

    def place_all(self, order: Sequence[int]) -> None:
        """Place pods, each by its group's index."""
        for index in order:
            if not self._place(index):
                self.unplaced[index] += 1

    def lacks(self, index: int, node: int) -> str:
        """The resource that a node has too little of for a pod of a group; else empty."""
        free = self.free[node]
        for name, value in self._board.groups[index].takes.items():
            if free.get(name, 0) < value:
                return name
        return ""

    def goes_with_others(self, index: int, node: int) -> bool:
        """Whether affinity to other pods, and theirs, allows a node."""
        on, group = self._board, self._board.groups[index]
        if node in self._shut[index]:
            return False
        for number, term in enumerate(group.repulsion):
            value = on.domain(node, term["topologyKey"])
            if value is not None and self._repelled[index, number][value]:
                return False
        if not group.affinity:
            return True
        values = [on.domain(node, term["topologyKey"]) for term in group.affinity]
        if any(value is None for value in values):
            return False
        found = [self._attracted[index, number] for number in range(len(group.affinity))]
        if all(one[str(value)] for one, value in zip(found, values, strict=True)):
            return True
        # The first of pods that attract each other may go anywhere.
        return not any(map(len, found)) and all(
            matches(term, group.namespace, group.namespace, group.labels) for term in group.affinity
        )

    def _place(self, index: int) -> bool:
        number_of_nodes = len(self.free)
        wanted = _nodes_to_look_at(number_of_nodes)
        possible: list[int] = []
        closed = self._board.closed[index]
        for step in range(number_of_nodes):
            node = (self._start + step) % number_of_nodes
            if closed[node] or self.lacks(index, node):
                continue
            if not self.goes_with_others(index, node):
                continue
            possible.append(node)
            if len(possible) == wanted:
                break
        if not possible:
            return False
        self._start = (self._start + step + 1) % number_of_nodes
        if self._scores:
            takes = self._board.groups[index].takes
            possible = self._scores.best(index, takes, possible)
        self._put(index, self._random.choice(possible))
        return True

    def _put(self, index: int, node: int) -> None:
        on, group = self._board, self._board.groups[index]
        free = self.free[node]
        for name, amount in group.takes.items():
            free[name] -= amount
        if self._scores:
            self._scores.put(index, group.takes, node)
        for other_index, other in self._choosy:
            for terms, into in (
                (other.affinity, self._attracted),
                (other.repulsion, self._repelled),
            ):
                for number, term in enumerate(terms):
                    if matches(term, other.namespace, group.namespace, group.labels):
                        value = on.domain(node, term["topologyKey"])
                        if value is not None:
                            into[other_index, number][value] += 1
        for term in group.repulsion:
            key = term["topologyKey"]
            there = on.alike(key, on.domain(node, key))
            for other_index, other in enumerate(on.groups):
                if matches(term, group.namespace, other.namespace, other.labels):
                    self._shut[other_index] |= there


def _nodes_to_look_at(number: int) -> int:
    if number <= _FEW_NODES:
        return number
    percent = max(50 - number // 125, 5)
    return max(number * percent // 100, _FEW_NODES)
