"""The order in which Python looks for the attributes of classes: its C3."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tf_cluster.program.resolve import ClassHere, Elsewhere

Base = ClassHere | Elsewhere
Bases = Mapping[ast.ClassDef, tuple[Base, ...]]
"""The bases of classes that were read, of all that they inherit from, too."""

OBJECT = Elsewhere("builtins.object")
GENERIC = Elsewhere("typing.Generic")
PROTOCOL = Elsewhere("typing.Protocol")


class ContradictionError(Exception):
    """Bases that contradict each other: Python refuses the class."""


def is_circle(bases: Bases) -> bool:
    """Whether a class would inherit from itself."""
    try:
        TopologicalSorter(_classes(bases)).prepare()
    except CycleError:
        return True
    return False


def orders_of(classes: Iterable[ClassHere], bases: Bases) -> dict[ast.ClassDef, tuple[Base, ...]]:
    """For each class its order, itself first. Raises ContradictionError."""
    by_node = {one.node: one for one in classes}
    orders: dict[ast.ClassDef, tuple[Base, ...]] = {}
    for node in TopologicalSorter(_classes(bases)).static_order():
        own = bases[node] or (OBJECT,)
        if len(set(map(_key, own))) < len(own):
            raise ContradictionError
        lines = [orders[base.node] if isinstance(base, ClassHere) else _line(base) for base in own]
        orders[node] = (by_node[node], *_merged([*lines, own]))
    return orders


def _classes(bases: Bases) -> dict[ast.ClassDef, list[ast.ClassDef]]:
    return {
        node: [base.node for base in own if isinstance(base, ClassHere)]
        for node, own in bases.items()
    }


def _line(base: Elsewhere) -> tuple[Base, ...]:
    """The order of a class that was not read."""
    if base == OBJECT:
        return (OBJECT,)
    return (base, GENERIC, OBJECT) if base == PROTOCOL else (base, OBJECT)


def _merged(lists: list[tuple[Base, ...]]) -> Iterator[Base]:
    """The first head that stands in the tail of none, again and again."""
    while lists := [one for one in lists if one]:
        tails = {_key(later) for one in lists for later in one[1:]}
        head = next((one[0] for one in lists if _key(one[0]) not in tails), None)
        if head is None:
            raise ContradictionError
        yield head
        lists = [one[1:] if _key(one[0]) == _key(head) else one for one in lists]


def _key(one: Base) -> ast.ClassDef | str:
    return one.node if isinstance(one, ClassHere) else one.name
