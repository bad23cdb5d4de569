"""Whether all pods that mount the claims have to be on one node."""

from collections.abc import Mapping
from typing import Any


def on_one_node(values: Mapping[str, Any]) -> bool:
    """What the chart makes of storage.colocate: null is true where one node can mount a claim."""
    storage = values.get("storage") or {}
    said = storage.get("colocate")
    if isinstance(said, bool):
        return said
    return any(is_of_one_node(storage.get(volume) or {}) for volume in ("data", "log"))


def is_of_one_node(claim: Mapping[str, Any]) -> bool:
    """Whether one node at a time mounts a claim, which is there."""
    modes = claim.get("accessModes") or []
    there = claim.get("enabled") is not False
    return there and "ReadWriteOnce" in modes and "ReadWriteMany" not in modes
