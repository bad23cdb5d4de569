"""Merges values the way Helm does."""

from collections.abc import Mapping
from typing import Any


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base`: mappings merge by key, everything else replaces, null removes.

    Null stays where the chart declares null, and where it declares nothing: the chart's schema
    then has the word. A template can't tell a null that the chart declares from nothing, which is
    what Helm 4 makes of some of them.
    """
    result = dict(base)
    for key, value in over.items():
        if value is None and result.get(key) is not None:
            del result[key]
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
