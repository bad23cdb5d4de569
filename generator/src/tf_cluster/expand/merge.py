"""Merges values the way Helm does."""

from collections.abc import Mapping
from typing import Any


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base`: mappings merge by key, everything else replaces, null removes.

    Null stays where the chart declares null or nothing; the chart's schema then decides. Helm 3
    and 4 drop different ones of these nulls. The chart treats null and a missing key alike.
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
