"""Whether all pods that mount the claims have to be on one node."""

from collections.abc import Mapping
from typing import Any

from tf_cluster.pointer import Pointer


def on_one_node(values: Mapping[str, Any]) -> bool:
    """What the chart makes of storage.colocate: null is true where one node can mount a claim."""
    storage = values.get("storage") or {}
    said = storage.get("colocate")
    if isinstance(said, bool):
        return said
    return any(is_of_one_node(storage.get(volume) or {}) for volume in ("data", "log"))


def keepers(values: Mapping[str, Any]) -> list[Pointer]:
    """The values that keep the pods on one node: storage.colocate, or claims' access modes."""
    storage = values.get("storage") or {}
    if storage.get("colocate") is True:
        return [("storage", "colocate")]
    claims = [one for one in ("data", "log") if is_of_one_node(storage.get(one) or {})]
    return [("storage", one, "accessModes") for one in claims]


def is_of_one_node(claim: Mapping[str, Any]) -> bool:
    """Whether one node at a time mounts a claim, which is there."""
    modes = claim.get("accessModes") or []
    there = claim.get("enabled") is not False
    return there and "ReadWriteOnce" in modes and "ReadWriteMany" not in modes
