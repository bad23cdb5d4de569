"""What tasks are told has to fit into a ConfigMap, and to get there through YAML and JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tf_cluster import codes
from tf_cluster.expand import Values
from tf_cluster.findings.finding import Finding
from tf_cluster.placing import finding_at
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.roles import has_ps
from tf_cluster.yaml.document import Document

MOST_BYTES = 1 << 20
"""Of the values of a ConfigMap together; the API server refuses more."""

_FIXED_BYTES = 8 << 10
"""More than what is told to every training: settings of `train`, names, the hint."""

_HASH = len("3f2a9c1b")
# Go's JSON leaves them as they are, and Helm's YAML reader refuses them.
_REFUSED_BY_HELM = re.compile("[\x7f-\x9f\ufffe\uffff]")
# An argument or a path can't have it; in a flag it is a character like others.
_NUL = re.compile("\x00")
_TOLD: tuple[Pointer, ...] = (("program",), ("flags",), ("evaluator", "exportBest"))
_FILES: Pointer = ("program", "source", "files")
_LIST_ITEM = len('      "",\n')
"""Around an address in cluster.json, as Go prints it with an indent of two."""


def character_rules(document: Document, values: Values, *, for_cluster: bool) -> Iterator[Finding]:
    """Findings on texts with characters that a task can't be told."""
    effective = values.effective
    for top in _TOLD:
        for path, text in _texts(value_at(effective, top), top):
            match = _NUL.search(text) if top != ("flags",) else None
            match = match or (_REFUSED_BY_HELM.search(text) if for_cluster else None)
            if match:
                where = _place(document, values, path)
                name = f"U+{ord(match.group()):04X}"
                message = f"{dotted(where)} has the character {name}, which can't get to a task"
                yield finding_at(document, where, codes.UNPRINTABLE, message, fix="take it out")


def size_rules(document: Document, values: Values) -> Iterator[Finding]:
    """A finding on what takes most of a configuration that is too large."""
    effective = values.effective
    parts: dict[Pointer, int] = {
        **{("flags", key): _json_bytes({key: flag}) for key, flag in _mapping(effective, "flags")},
        **{("program", key): _json_bytes(part) for key, part in _mapping(effective, "program")},
        **_addresses(effective),
    }
    total = sum(parts.values()) + _FIXED_BYTES
    if total <= MOST_BYTES:
        return
    sums: Counter[str | int] = Counter()
    for path, size in parts.items():
        sums[path[0]] += size
    (top, size), *_ = sums.most_common()
    largest = max((path for path in parts if path[0] == top), key=lambda path: parts[path])
    where = _place(document, values, largest)
    if parts[largest] > size / 2:
        size = parts[largest]
    else:
        where = where[:-1]
    message = (
        f"what the tasks are told has {total >> 10} KiB, and a ConfigMap holds {MOST_BYTES >> 10} "
        f"KiB; {size >> 10} KiB of them are {dotted(where)}"
    )
    fix = _FIXES.get(str(top), "put it in a file on the data volume")
    yield finding_at(document, where, codes.CONFIG_TOO_LARGE, message, fix=fix)


_FIXES = {"worker": "take fewer workers or a shorter name", "ps": "take fewer ps or a shorter name"}


def json_bytes(data: Any) -> int:
    """Bytes of data as Go prints JSON in one line: what is special in HTML takes six each."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + sum(
        text.count(character) * (6 - len(character.encode())) for character in "<>&\u2028\u2029"
    )


def _json_bytes(data: Any, depth: int = 2) -> int:
    """Bytes of data as Go prints JSON with an indent of two, each entry in a line of its own."""
    if isinstance(data, Mapping):
        entries = [json_bytes(key) + 2 + _json_bytes(one, depth + 1) for key, one in data.items()]
    elif isinstance(data, list):
        entries = [_json_bytes(one, depth + 1) for one in data]
    else:
        return json_bytes(data)
    return sum(entries) + len(entries) * (2 * depth + 4) + 4 + 2 * depth


def _mapping(effective: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    yield from (effective.get(key) or {}).items()


def _addresses(effective: Mapping[str, Any]) -> dict[Pointer, int]:
    """Bytes of the tasks' addresses in cluster.json: each is there with two ports."""
    name = len(effective.get("fullnameOverride") or "")
    service = name + 1 + _HASH
    sizes: dict[Pointer, int] = {}
    for role in ("worker", "ps"):
        count = value_at(effective, (role, "replicas")) or 0
        if role == "ps" and not has_ps(effective):
            count = 0
        pod = name + len(f"-{role}-") + _HASH + 1
        digits = sum(max(0, count - start) for start in (0, 10, 100, 1_000))
        each = pod + 1 + service + len(":2222") + _LIST_ITEM
        sizes[(role, "replicas")] = 2 * (count * each + digits)
    return sizes


def _texts(data: Any, path: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, inner in data.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from _texts(inner, (*path, index))


def _place(document: Document, values: Values, path: Pointer) -> Pointer:
    """Where the file says a value; of a file of program.source, where it names it."""
    for end in range(len(path), 0, -1):
        origin = values.origins.get(path[:end])
        if origin and origin[:3] == _FILES:
            names = [str(PurePosixPath(name)) for name in value_at(document.data, _FILES)]
            return (*_FILES, names.index(str(path[3])))
        if origin and origin != ("preset",):
            return (*origin, *path[end:])
    return values.origin(path)
