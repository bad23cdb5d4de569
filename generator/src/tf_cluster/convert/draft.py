"""The params file while it is being made: each value knows the field that it came from."""

import copy
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.pointer import Pointer

_ORDER = (
    *(
        "name",
        "image",
        "imagePullSecrets",
        "program",
        "strategy",
        "replication",
        "update",
        "workers",
        "ps",
    ),
    *("gpus", "resources", "data", "log", "serviceAccount", "run", "extraValues"),
)


@dataclass
class Draft:
    """Values by their place in the params file. What turns out not to fit is taken out again."""

    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Pointer, Pointer] = field(default_factory=dict)
    _out: set[Pointer] = field(default_factory=set)

    def put(self, target: Pointer, value: Any, source: Pointer) -> None:
        """Set a value that is made of the field at `source`."""
        inner: Any = self.data
        for part in target[:-1]:
            inner = inner.setdefault(part, {})
        inner[target[-1]] = copy.deepcopy(value)
        self.origins[target] = source

    def append(self, target: Pointer, value: Any, source: Pointer) -> None:
        """Add an item to a list."""
        items = self.get(target)
        if items is None:
            self.put(target, [], source)
            items = self.get(target)
        items.append(copy.deepcopy(value))
        item: Pointer = (*target, len(items) - 1)
        self.origins[item] = source

    def get(self, target: Pointer) -> Any:
        """The value at a place; None where there is none."""
        inner: Any = self.data
        for part in target:
            inner = inner.get(part) if isinstance(inner, dict) else None
        return inner

    def take_out(self, target: Pointer) -> None:
        """Leave out a value of the draft, by its place in the draft."""
        self._out.add(target)

    def is_out(self, target: Pointer) -> bool:
        """Whether a value, or one that it stands in, was taken out."""
        return any(target[:end] in self._out for end in range(len(target) + 1))

    def gone(self) -> set[Pointer]:
        """The places that were written to, and of which nothing is left."""
        return {target for target in self.origins if not self._is_left(target)}

    def lost(self) -> set[Pointer]:
        """The fields of which nothing is left in the params file."""
        kept = {source for target, source in self.origins.items() if self._is_left(target)}
        return set(self.origins.values()) - kept

    def _is_left(self, target: Pointer) -> bool:
        value = self._at(target)
        left = self._left(target, value)
        return not self.is_out(target) and (left == value or left not in ({}, []))

    def params(self) -> dict[str, Any]:
        """The params file: what is left, in the order in which people write it."""
        left = self._left((), self.data)
        return {key: left[key] for key in (*_ORDER, *left) if key in left}

    def _left(self, path: Pointer, value: Any) -> Any:
        if isinstance(value, dict):
            inner = {
                key: self._left((*path, key), one)
                for key, one in value.items()
                if (*path, key) not in self._out
            }
            return {key: one for key, one in inner.items() if one != {} or value[key] == {}}
        if isinstance(value, list):
            return [
                self._left((*path, index), one)
                for index, one in enumerate(value)
                if (*path, index) not in self._out
            ]
        return value

    def in_draft(self, path: Pointer) -> Pointer:
        """The place in the draft of a place in the params file, where lists may be shorter."""
        place: Pointer = ()
        for part in path:
            if isinstance(part, int):
                inner = self._at(place)
                count = len(inner) if isinstance(inner, list) else 0
                left = [i for i in range(count) if (*place, i) not in self._out]
                place = (*place, left[part] if part < len(left) else part)
            else:
                place = (*place, part)
        return place

    def _at(self, path: Pointer) -> Any:
        inner: Any = self.data
        for part in path:
            try:
                inner = inner[part]
            except (KeyError, IndexError, TypeError):
                return None
        return inner

    def source_of(self, target: Pointer) -> Pointer | None:
        """The field that a value, or a part of one, came from."""
        for end in range(len(target), 0, -1):
            if target[:end] in self.origins:
                return (*self.origins[target[:end]], *target[end:])
        return None
