"""Values for the chart, and which key of the params file set each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tf_cluster.pointer import Pointer

PRESET: Pointer = ("preset",)
"""The origin of values that the file leaves to its preset."""


class Flag(str):
    """A flag of the command, `--workers`; the origin of a value that it set is `(flag,)`."""


@dataclass(frozen=True)
class Values:
    """Values for the chart without its defaults, and the origin of each.

    `origins` maps each value (a leaf, or a list) to its path in the params file, to `PRESET` or to
    the flag that set it. `effective` is what the chart's templates see: these values laid over the
    chart's own.
    """

    data: dict[str, Any]
    origins: dict[Pointer, Pointer]
    effective: Mapping[str, Any]

    def origin_of(self, *paths: Pointer) -> Pointer:
        """The origin of the first of these values that the preset did not set; else `PRESET`."""
        origins = [self.origins.get(path, PRESET) for path in paths]
        return next((origin for origin in origins if origin != PRESET), PRESET)

    def origin_around(self, path: Pointer) -> Pointer:
        """The origin of the value at `path`, or of the nearest one around or inside it."""
        for end in range(len(path), -1, -1):
            decided = self.origins.get(path[:end]) or self._inside.get(path[:end])
            if decided:
                return decided
        return ()

    def named(self, path: Pointer) -> Pointer:
        """The path by which a user finds the value: its flag, or its path in the file."""
        origin = self.origin_around(path)
        if isinstance(self.origins.get(path, PRESET)[0], Flag):
            return origin
        return ("extraValues", *path) if origin[:1] == ("extraValues",) else self.written(path)

    def written(self, path: Pointer) -> Pointer:
        """The path in the file of a value, or of a part of it, that a key says as it is."""
        for end in range(len(path), 0, -1):
            origin = self.origins.get(path[:end], PRESET)
            if origin != PRESET:
                return origin + path[end:]
        return path

    @cached_property
    def _inside(self) -> dict[Pointer, Pointer]:
        """For each mapping, the shortest origin of its parts, presets aside."""
        found: dict[Pointer, Pointer] = {}
        for path, origin in self.origins.items():
            if origin == PRESET:
                continue
            for end in range(len(path)):
                if path[:end] not in found or len(origin) < len(found[path[:end]]):
                    found[path[:end]] = origin
        return found
