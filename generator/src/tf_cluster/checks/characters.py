"""Characters that do not survive the way to a task through YAML and JSON."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.source_files import FILES
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

UNPRINTABLE = Code(
    "TFC330",
    "a text with a character that can't get to a task",
    why=(
        "Helm refuses U+007F to U+009F, U+FFFE and U+FFFF in what it sends. No process can "
        "be given U+0000 in an argument."
    ),
    wrong='flags: {title: "digits\\x7f"}',
    right="flags: {title: digits}",
)

# Go's JSON writes them unescaped, and Helm's YAML reader refuses them.
_REFUSED_BY_HELM = re.compile("[\x7f-\x9f\ufffe\uffff]")
# Not possible in an argument or a path; allowed in a flag.
_NUL = re.compile("\x00")
_TOLD: tuple[Pointer, ...] = (("program",), ("flags",), ("evaluator", "exportBest"))


def check(params: Params) -> Iterator[Finding]:
    """A finding for each text with such a character."""
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
    """The place of a value in the file; for the text of a source file, the place of its name."""
    for end in range(len(path), 0, -1):
        origin = params.values.origins.get(path[:end])
        if origin and origin[:3] == FILES:
            names = [str(PurePosixPath(name)) for name in params.written_at(FILES)]
            return (*FILES, names.index(str(path[3])))
        if origin and origin != PRESET:
            return (*origin, *path[end:])
    return params.values.origin_around(path)
