"""The tasks' configuration has to fit into a ConfigMap."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.checks.characters import where_said
from tf_cluster.expand.go_json import indented_bytes
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

CONFIG_TOO_LARGE = Code(
    "TFC331",
    "the tasks' configuration is too large for a ConfigMap",
    why=(
        "`flags` and `program` travel in a ConfigMap, and the API server refuses one of over 1 MiB."
    ),
    wrong="flags: {words: '«< × 400000»'}",
    right="flags: {words: /data/words.txt}",
)

MOST_BYTES = 1 << 20
"""Size of all values of a ConfigMap; the API server refuses more."""

_FIXED_BYTES = 8 << 10
"""An upper bound for what every training has: cluster.json, settings of `train`, names."""

_FIX = "put it in a file on the data volume"


def check(params: Params) -> Iterator[Finding]:
    """A finding on the largest part of a configuration that is too large."""
    effective = params.effective
    parts: dict[Pointer, int] = {
        **{
            ("flags", key): indented_bytes({key: flag})
            for key, flag in _mapping(effective, "flags")
        },
        **{("program", key): indented_bytes(part) for key, part in _mapping(effective, "program")},
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
    yield params.finding(where, CONFIG_TOO_LARGE, message, fix=_FIX)


def _mapping(effective: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    yield from (effective.get(key) or {}).items()
