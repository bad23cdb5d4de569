"""Whether no placing at all can succeed, however good: what "does not fit" rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tf_cluster.cluster.preflight.placing import Board
from tf_cluster.cluster.preflight.terms import Whole

_MOST_NODES = 300
_MOST_ITEMS = 50
_MOST_STEPS = 30_000


@dataclass(frozen=True)
class Item:
    """`count` times the same amounts, each on one of the `nodes`. `groups` are whose they are."""

    groups: tuple[int, ...]
    takes: Whole
    count: int
    nodes: frozenset[int]


def items(on: Board) -> list[Item]:
    """The groups; those whose pods have to share a node with each other are one item.

    Other affinity is left out: what can't be placed without it can't be placed with it.
    """
    apart: list[Item] = []
    together: dict[str, list[int]] = {}
    for index, group in enumerate(on.groups):
        open_nodes = (
            frozenset(node for node, why in enumerate(on.closed[index]) if not why)
            - on.blocked[index]
        )
        if group.attracts_itself:
            together.setdefault(repr((group.namespace, group.affinity)), []).append(index)
        else:
            apart.append(Item((index,), group.takes, group.count, open_nodes))
    for indexes in together.values():
        nodes = frozenset(range(len(on.rooms)))
        takes: Whole = {}
        for index in indexes:
            group = on.groups[index]
            nodes &= frozenset(node for node, why in enumerate(on.closed[index]) if not why)
            for name, value in group.takes.items():
                takes[name] = takes.get(name, 0) + value * group.count
            for number, term in enumerate(group.affinity):
                there = on.attracted[index, number]
                if there:
                    key = term["topologyKey"]
                    nodes &= frozenset(
                        node for node in range(len(on.rooms)) if on.domain(node, key) in there
                    )
        apart.append(Item(tuple(indexes), takes, 1, nodes))
    return _alike_as_one(apart)


def _alike_as_one(every: Sequence[Item]) -> list[Item]:
    """Items of equal amounts and nodes as one, so that many small ones are few."""
    found: dict[object, Item] = {}
    for item in every:
        key = (tuple(sorted(item.takes.items())), item.nodes)
        there = found.get(key)
        if there:
            item = Item(
                (*there.groups, *item.groups), item.takes, there.count + item.count, item.nodes
            )
        found[key] = item
    return list(found.values())


def is_impossible(on: Board) -> tuple[bool | None, tuple[int, ...]]:
    """Whether the groups can't all be placed, None where that is not decided; and whose fault.

    The second is empty where no group alone is at fault.
    """
    every = items(on)
    free = [room.free for room in on.rooms]
    for item in every:
        if sum(_fits(free[node], item.takes) for node in item.nodes) < item.count:
            return True, item.groups
    for name in sorted({name for item in every for name in item.takes}):
        nodes = frozenset[int]().union(*(one.nodes for one in every if name in one.takes))
        asked = sum(item.takes.get(name, 0) * item.count for item in every)
        if asked > sum(max(free[node].get(name, 0), 0) for node in nodes):
            return True, ()
    if len(free) > _MOST_NODES or len(every) > _MOST_ITEMS:
        return None, ()
    return _Search(every, free).is_impossible(), ()


class _Search:
    """Goes through all ways to fill node after node, as far as they differ."""

    def __init__(self, every: Sequence[Item], free: Sequence[Whole]) -> None:
        useful = [node for node in range(len(free)) if any(node in one.nodes for one in every)]
        # Nodes that few may use come first, and nodes that are alike come together.
        useful.sort(
            key=lambda node: (
                sum(node in one.nodes for one in every),
                sorted(free[node].items()),
            )
        )
        self._every = every
        self._free = [free[node] for node in useful]
        self._open = [[node in one.nodes for one in every] for node in useful]
        self._steps = 0
        self._seen: set[tuple[int, tuple[int, ...]]] = set()
        self._later = self._capacity()

    def is_impossible(self) -> bool | None:
        """Whether no way places all; None where there are too many ways."""
        found = self._goes(0, tuple(one.count for one in self._every))
        return None if found is None else not found

    def _capacity(self) -> list[list[int]]:
        """For each node, how many of each item it and those after it take at most."""
        found = [[0] * len(self._every)]
        for node in reversed(range(len(self._free))):
            found.append(
                [
                    after + (_fits(self._free[node], one.takes) if is_open else 0)
                    for after, one, is_open in zip(
                        found[-1], self._every, self._open[node], strict=True
                    )
                ]
            )
        return found[::-1]

    def _goes(self, node: int, left: tuple[int, ...]) -> bool | None:
        if not any(left):
            return True
        later = self._later[node]
        if any(count > most for count, most in zip(left, later, strict=True)):
            return False
        if (node, left) in self._seen:
            return False
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None
        for taken in self._fillings(node, left, 0, self._free[node]):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                return None
            rest = tuple(count - more for count, more in zip(left, taken, strict=True))
            found = self._goes(node + 1, rest)
            if found is not False:
                return found
        self._seen.add((node, left))
        return False

    def _fillings(
        self, node: int, left: tuple[int, ...], index: int, free: Whole
    ) -> Iterator[tuple[int, ...]]:
        """How many of each item a node may take, the most of the first item first."""
        if index == len(left):
            yield ()
            return
        item = self._every[index]
        most = 0
        if self._open[node][index]:
            most = min(left[index], _fits(free, item.takes))
        # The last item takes what there is room for: fewer of it would never help.
        least = most if index == len(left) - 1 else 0
        for count in range(most, least - 1, -1):
            rest = free
            if count:
                rest = {
                    name: value - item.takes.get(name, 0) * count for name, value in free.items()
                }
            for more in self._fillings(node, left, index + 1, rest):
                yield (count, *more)


def _fits(free: Whole, takes: Whole) -> int:
    """How many times the amounts are there."""
    return max(min(free.get(name, 0) // value for name, value in takes.items()), 0)
