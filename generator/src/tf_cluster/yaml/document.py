"""A file as read: its values, and where each of them stands."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tf_cluster.findings.finding import Finding, Place
from tf_cluster.pointer import Pointer

START = Place(1, 1)


class Spot(NamedTuple):
    """Where a value stands, and its key (the value itself for the root and for list items).

    `plain` is the text of a scalar that has no quotes, as it is written.
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
        """Whether there is a mapping to look at."""
        return () in self.spots

    def spot(self, path: Pointer) -> Spot:
        """Where `path` stands; for what does not stand there, the nearest mapping around it."""
        while path not in self.spots and path:
            path = path[:-1]
        return self.spots.get(path, Spot(START, START))
