"""Resources of sidecars and init containers: amounts that Kubernetes can't give so."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.checks.devices import MOST_DEVICES
from tf_cluster.expand.quantity import MEGABYTE, quantity
from tf_cluster.expand.roles import PODS, pod_section
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

CONTAINER_RESOURCES = Code(
    "TFC335",
    "resources of a sidecar or init container that Kubernetes can't give",
    why="Kubernetes refuses the pod when the training's other objects are made already.",
    wrong=(
        "extraValues:\n"
        "  pod:\n"
        "    sidecars:\n"
        "      - name: logs\n"
        "        image: r.example/logs:1\n"
        "        resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}"
    ),
    right=(
        "extraValues:\n"
        "  pod:\n"
        "    sidecars:\n"
        "      - name: logs\n"
        "        image: r.example/logs:1\n"
        "        resources: {requests: {memory: 1Gi}, limits: {memory: 2Gi}}"
    ),
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on the amounts of each container, at most one for each of them."""
    for path, resources in _resources(params.effective).items():
        limits = resources.get("limits") or {}
        for kind in ("requests", "limits"):
            for name, amount in (resources.get(kind) or {}).items():
                what, fix = _fault(name, amount, limits)
                if what:
                    where: Pointer = ("extraValues", *path, kind, name)
                    message = f"{dotted(where[1:])} is {amount}, {what}"
                    yield params.finding(where, CONTAINER_RESOURCES, message, amount, fix)


def _resources(values: Mapping[str, Any]) -> dict[Pointer, dict[str, Any]]:
    """Of each container that is in a pod; what stands in `pod` once."""
    found: dict[Pointer, dict[str, Any]] = {}
    for role in PODS:
        for key in ("sidecars", "initContainers"):
            section = pod_section(values, role, key)
            for index, container in enumerate((values.get(section) or {}).get(key) or ()):
                found[(section, key, index, "resources")] = container.get("resources") or {}
    return found


def _fault(name: str, amount: Any, limits: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with an amount, and the fix; nothing where it is right."""
    number = quantity(str(amount))
    limit = quantity(str(limits[name])) if name in limits else None
    is_device, page = "/" in name, name.removeprefix("hugepages-")
    is_counted = is_device or page != name
    if is_device and number.denominator != 1:
        return "and only whole ones can be asked for", "ask for whole ones"
    if is_device and number > MOST_DEVICES:
        return f"and Kubernetes counts to {MOST_DEVICES}", "ask for fewer"
    if is_counted and not is_device and (number / quantity(page)).denominator != 1:
        return f"and only whole pages of {page} can be asked for", "ask for whole pages"
    if name in ("memory", "ephemeral-storage") and 0 < number < MEGABYTE:
        return "which is less than 1M", "write the unit, as in 4Gi"
    if is_counted and limit is None:
        return "and the limits have none", "write it there instead"
    if is_counted and number != limit:
        return f"and its limit is {limits[name]}", "leave the request out"
    if limit is not None and number > limit:
        return f"over the limit of {limits[name]}", "raise the limit or lower the request"
    return "", ""
