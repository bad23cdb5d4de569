"""Paths into a document: tuples of keys and indexes, and two ways to print them."""

from collections.abc import Mapping
from typing import Any

from tf_cluster.printable import cut

Pointer = tuple[str | int, ...]
_LONGEST_DOTTED = 300


def json_pointer(path: Pointer) -> str:
    """RFC 6901: `/train/steps`; the whole document is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def dotted(path: Pointer) -> str:
    """The form for people: `train.steps`, `data.accessModes[0]`; a long one is cut."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return cut(text.removeprefix("."), _LONGEST_DOTTED)


def value_at(data: Any, path: Pointer) -> Any:
    """The value at `path` in nested mappings; None if there is none."""
    for part in path:
        if not isinstance(data, (dict, Mapping)) or part not in data:  # a dict is seen at once
            return None
        data = data[part]
    return data
