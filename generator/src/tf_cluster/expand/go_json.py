"""Sizes of data as JSON in Go's format, which is how a ConfigMap holds it."""

import json
import re
from collections.abc import Mapping
from typing import Any

_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PLAIN = re.compile(r"[\w./: -]*", re.ASCII)
_LONGER = re.compile("[<>&\u2028\u2029]")


def json_bytes(data: Any) -> int:
    """Bytes of data as Go prints JSON in one line; characters special in HTML take six each."""
    if type(data) is int:  # there may be many of these two, and the encoder is slow to start
        return len(str(data))
    if type(data) is str and _PLAIN.fullmatch(data):
        return len(data) + 2
    text = _encoded(data)
    return len(text.encode()) + sum(6 - len(one.encode()) for one in _LONGER.findall(text))


def indented_bytes(data: Any, depth: int = 2) -> int:
    """Bytes of data as Go prints JSON with an indent of two, each entry in a line of its own."""
    if isinstance(data, Mapping):
        entries = [
            json_bytes(key) + 2 + indented_bytes(one, depth + 1) for key, one in data.items()
        ]
    elif isinstance(data, list):
        entries = [indented_bytes(one, depth + 1) for one in data]
    else:
        return json_bytes(data)
    return sum(entries) + len(entries) * (2 * depth + 4) + 4 + 2 * depth
