"""A file as read: its values, and where each of them stands."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tf_cluster.findings.finding import Finding, Place
from tf_cluster.pointer import Pointer

START = Place(1, 1)


class Spot(NamedTuple):
    """The place of a value and of its key (for the root and list items, the value's again).

    `plain` is the text of an unquoted scalar as written.
    """

    key: Place
    value: Place
    plain: str | None = None


@dataclass(frozen=True)
class Document:
    """A params file as read. `data` is empty when the file could not be read as a mapping."""

    file: str
    data: dict[str, Any] = field(default_factory=dict)
    spots: dict[Pointer, Spot] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether the file was read as a mapping."""
        return () in self.spots

    def spot(self, path: Pointer) -> Spot:
        """The place of `path`; if nothing is there, of the nearest mapping around it."""
        while path not in self.spots and path:
            path = path[:-1]
        return self.spots.get(path, Spot(START, START))

    def is_repeated(self, path: Pointer) -> bool:
        """Whether an alias stands for the value at `path`, or for what is around it."""
        if not self._repeated:
            return False
        around = (self.spots.get(path[:end]) for end in range(1, len(path) + 1))
        return any(spot.value in self._repeated for spot in around if spot)

    @cached_property
    def _repeated(self) -> frozenset[Place]:
        """The places of values that stand for more than one."""
        uses = Counter(spot.value for spot in self.spots.values())
        return frozenset(place for place, number in uses.items() if number > 1)
