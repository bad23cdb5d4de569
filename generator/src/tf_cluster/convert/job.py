"""A TFJob as read, and what became of each of its fields so far."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.convert.report import Entry, Fate
from tf_cluster.pointer import Pointer
from tf_cluster.printable import cut
from tf_cluster.yaml.document import Document

NO_PLACE = "nothing here does this"


@dataclass
class Job:
    """One TFJob of a file. Whoever reads a field says what becomes of it; the rest is to do.

    Paths are those in the TFJob. `root` is where it stands in its document.
    """

    document: Document
    root: Pointer
    data: Mapping[str, Any]
    entries: list[Entry] = field(default_factory=list)
    _told: set[Pointer] = field(default_factory=set)

    def get(self, path: Pointer) -> Any:
        """The value at a path; None where there is none."""
        inner: Any = self.data
        for part in path:
            if isinstance(part, int):
                if not isinstance(inner, list) or part >= len(inner):
                    return None
            elif not isinstance(inner, Mapping) or part not in inner:
                return None
            inner = inner[part]
        return inner

    def text(self, path: Pointer) -> str:
        """The text at a path; empty where there is none."""
        value = self.get(path)
        return value if isinstance(value, str) else ""

    def written(self, path: Pointer) -> str:
        """The scalar at a path as the file writes it: `0.10`, where its value is 0.1."""
        spot = self.document.spots.get((*self.root, *path))
        return spot.plain if spot and spot.plain is not None else str(self.get(path))

    def keys(self, path: Pointer) -> list[str]:
        """The keys of a mapping that have a value; none where there is no mapping."""
        value = self.get(path)
        return [key for key, one in value.items() if not is_empty(one)] if _is_map(value) else []

    def items(self, path: Pointer) -> list[Pointer]:
        """The paths of a list's items; none where there is no list."""
        value = self.get(path)
        return [(*path, index) for index in range(len(value))] if isinstance(value, list) else []

    def line(self, path: Pointer) -> int:
        """The line of a field, or of what is around it."""
        return self.document.spot((*self.root, *path)).key.line

    def maps(self, path: Pointer, key: str, words: str = "") -> None:
        """A key of the params file says what this field says."""
        self._tell("maps", path, words, key)

    def leave_out(self, path: Pointer, why: str) -> None:
        """This field needs nothing here."""
        self._tell("left out", path, why, "")

    def to_do(self, path: Pointer, why: str, key: str = "") -> None:
        """A person has to decide what becomes of this field."""
        self._tell("to do", path, why, key)

    def remark(self, path: Pointer, why: str, key: str) -> None:
        """Something to decide about a field whose own fate is told elsewhere."""
        self.entries.append(Entry("to do", self.line(path), path, why, key))

    def is_told(self, path: Pointer) -> bool:
        """Whether the fate of a field, or of what it stands in, is told."""
        return any(path[:end] in self._told for end in range(len(path) + 1))

    def tell_the_rest(self, path: Pointer = (), why: str = NO_PLACE, key: str = "") -> None:
        """What nobody dealt with is to do: by its largest part of which nothing is told."""
        around = {told[:end] for told in self._told for end in range(len(told))}
        for part in list(self._untold(path, around)):
            self.to_do(part, f"{cut(shown(self.get(part)), 80)}: {why}", key)

    def _untold(self, path: Pointer, around: set[Pointer]) -> Iterator[Pointer]:
        value = self.get(path)
        if path in self._told or is_empty(value):
            return
        inner: list[Pointer] = []
        if isinstance(value, Mapping):
            inner = [(*path, key) for key in value]
        elif isinstance(value, list):
            inner = self.items(path)
        if path in around or (path in _OPEN and inner):
            for one in inner:
                yield from self._untold(one, around)
        else:
            yield path

    def _tell(self, fate: Fate, path: Pointer, words: str, key: str) -> None:
        self._told.add(path)
        self.entries.append(Entry(fate, self.line(path), path, words, key))

    def withdraw(self, path: Pointer) -> None:
        """No key says what this field says, after all: that it maps is no longer told."""
        self.entries[:] = [e for e in self.entries if e.fate != "maps" or e.field != path]

    def cover(self, path: Pointer) -> None:
        """The fate of this field is told with that of another one."""
        self._told.add(path)


_OPEN: set[Pointer] = {(), ("spec",), ("metadata",)}


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def is_empty(value: Any) -> bool:
    """Whether Kubernetes takes a value for none, as in `metadata: {creationTimestamp: null}`."""
    if isinstance(value, Mapping):
        return all(map(is_empty, value.values()))
    return value is None or value == []


def shown(value: Any) -> str:
    """A value in a few words, as YAML writes it; of a list, how many items it has."""
    if isinstance(value, Mapping):
        return ", ".join(map(str, value))
    if isinstance(value, list):
        return f"{len(value)} item" + "s" * (len(value) != 1)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
