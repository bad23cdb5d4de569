"""The tasks' configuration has to fit into a ConfigMap."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.checks.characters import where_said
from tf_cluster.expand.go_json import indented_bytes
from tf_cluster.expand.roles import has_ps
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted, value_at

CONFIG_TOO_LARGE = Code("TFC331", "the tasks' configuration is too large for a ConfigMap")

MOST_BYTES = 1 << 20
"""Size of all values of a ConfigMap; the API server refuses more."""

_FIXED_BYTES = 8 << 10
"""An upper bound for what every training has: settings of `train`, names, the hint."""

_HASH = len("3f2a9c1b")
_LIST_ITEM = len('      "",\n')
"""What surrounds an address in cluster.json, as Go prints it with an indent of two."""

_FIXES = {"worker": "take fewer workers or a shorter name", "ps": "take fewer ps or a shorter name"}


def check(params: Params) -> Iterator[Finding]:
    """A finding on the largest part of a configuration that is too large."""
    effective = params.effective
    parts: dict[Pointer, int] = {
        **{
            ("flags", key): indented_bytes({key: flag})
            for key, flag in _mapping(effective, "flags")
        },
        **{("program", key): indented_bytes(part) for key, part in _mapping(effective, "program")},
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
    where = where_said(params, largest)
    if parts[largest] > size / 2:
        size = parts[largest]
    else:
        where = where[:-1]
    message = (
        f"what the tasks are told has {total >> 10} KiB, and a ConfigMap holds {MOST_BYTES >> 10} "
        f"KiB; {size >> 10} KiB of them are {dotted(where)}"
    )
    fix = _FIXES.get(str(top), "put it in a file on the data volume")
    yield params.finding(where, CONFIG_TOO_LARGE, message, fix=fix)


def _mapping(effective: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    yield from (effective.get(key) or {}).items()


def _addresses(effective: Mapping[str, Any]) -> dict[Pointer, int]:
    """Bytes of the tasks' addresses in cluster.json, which has each with two ports."""
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
