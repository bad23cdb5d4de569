"""Values for the chart, and which key of the params file decided each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tf_cluster.pointer import Pointer

PRESET: Pointer = ("preset",)
"""The origin of what the file leaves to its preset."""


class Flag(str):
    """A flag of the command, `--workers`: alone the origin of a value that it decided."""


@dataclass(frozen=True)
class Values:
    """Values for the chart: only what was decided, and which key of the params decided it.

    `origins` maps each value (a leaf, or a list) to its place in the params file; values that the
    preset decided map to `PRESET`, those that a flag of the command decided to that `Flag`.
    `effective` is what the chart's templates see: these values over the chart's own.
    """

    data: dict[str, Any]
    origins: dict[Pointer, Pointer]
    effective: Mapping[str, Any]

    def origin_of(self, *paths: Pointer) -> Pointer:
        """The place of the first of these values that the file itself sets; else `PRESET`."""
        origins = [self.origins.get(path, PRESET) for path in paths]
        return next((origin for origin in origins if origin != PRESET), PRESET)

    def origin_around(self, path: Pointer) -> Pointer:
        """The params key that decided the value at `path`, or what is nearest around it."""
        for end in range(len(path), -1, -1):
            decided = self.origins.get(path[:end]) or self._inside.get(path[:end])
            if decided:
                return decided
        return ()

    def named(self, path: Pointer) -> Pointer:
        """The value at `path` as people find it: by its flag, or in the file's extraValues."""
        origin = self.origin_around(path)
        if isinstance(self.origins.get(path, PRESET)[0], Flag):
            return origin
        return ("extraValues", *path) if origin[:1] == ("extraValues",) else path

    @cached_property
    def _inside(self) -> dict[Pointer, Pointer]:
        """For each mapping, the shortest place of those in the file that decided a part of it."""
        found: dict[Pointer, Pointer] = {}
        for path, origin in self.origins.items():
            if origin == PRESET:
                continue
            for end in range(len(path)):
                if path[:end] not in found or len(origin) < len(found[path[:end]]):
                    found[path[:end]] = origin
        return found
