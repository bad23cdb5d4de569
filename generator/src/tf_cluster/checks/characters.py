"""What tasks are told has to get there through YAML and JSON."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.source_files import FILES
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

UNPRINTABLE = Code("TFC330", "a text with a character that can't get to a task")

# Go's JSON leaves them as they are, and Helm's YAML reader refuses them.
_REFUSED_BY_HELM = re.compile("[\x7f-\x9f\ufffe\uffff]")
# An argument or a path can't have it; in a flag it is a character like others.
_NUL = re.compile("\x00")
_TOLD: tuple[Pointer, ...] = (("program",), ("flags",), ("evaluator", "exportBest"))


def check(params: Params) -> Iterator[Finding]:
    """Findings on texts with characters that a task can't be told."""
    for top in _TOLD:
        for path, text in _texts(params.value_at(top), top):
            match = _NUL.search(text) if top != ("flags",) else None
            match = match or (_REFUSED_BY_HELM.search(text) if params.for_cluster else None)
            if match:
                where = where_said(params, path)
                name = f"U+{ord(match.group()):04X}"
                message = f"{dotted(where)} has the character {name}, which can't get to a task"
                yield params.finding(where, UNPRINTABLE, message, fix="take it out")


def _texts(data: Any, path: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, inner in data.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from _texts(inner, (*path, index))


def where_said(params: Params, path: Pointer) -> Pointer:
    """Where the file says a value; of a file of program.source, where it names it."""
    for end in range(len(path), 0, -1):
        origin = params.values.origins.get(path[:end])
        if origin and origin[:3] == FILES:
            names = [str(PurePosixPath(name)) for name in params.written_at(FILES)]
            return (*FILES, names.index(str(path[3])))
        if origin and origin != PRESET:
            return (*origin, *path[end:])
    return params.values.origin_around(path)
