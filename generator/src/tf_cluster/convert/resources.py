"""What a task asks for."""

from typing import Any

from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.convert.roles import Role
from tf_cluster.pointer import Pointer, dotted

_NAMED = ("cpu", "memory", "ephemeral-storage")


def put_resources(job: Job, role: Role, container: Pointer, draft: Draft) -> None:
    """Requests and limits, as Kubernetes completes them; GPUs and other devices as extraValues."""
    at = (*container, "resources")
    limits = _amounts(job, (*at, "limits"))
    requests = _amounts(job, (*at, "requests"))
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name, amount in amounts.items():
            source = (*at, kind, name)
            if kind == "requests" and _is_counted(name) and limits.get(name) == amount:
                job.leave_out(source, "the limit says it")
                continue
            target = _target(role, kind, name)
            whole = str(amount).isascii() and str(amount).isdigit() and len(str(amount)) < 5
            draft.put(target, int(amount) if target == ("gpus",) and whole else amount, source)
            job.maps(source, dotted(target))
    for name, amount in limits.items():
        if name not in requests and not _is_counted(name):  # Kubernetes requests the limit then
            draft.put(_target(role, "requests", name), amount, (*at, "limits", name))
    if "memory" not in limits:
        # The chart's own limit would end what had none before.
        draft.put(("extraValues", role.target, "resources", "limits", "memory"), None, at)
    claims = (*at, "claims")
    if isinstance(job.get(claims), list):
        target = ("extraValues", role.target, "resources", "claims")
        draft.put(target, job.get(claims), claims)
        job.maps(claims, dotted(target))


def _amounts(job: Job, path: Pointer) -> dict[str, Any]:
    value = job.get(path)
    if not isinstance(value, dict):
        return {}
    return {
        name: amount
        for name, amount in value.items()
        if isinstance(amount, (str, int, float)) and not isinstance(amount, bool)
    }


def _is_counted(name: str) -> bool:
    """Whether Kubernetes gives what the limit says, and no less is requested."""
    return "/" in name or name.startswith("hugepages-")


def _target(role: Role, kind: str, name: str) -> Pointer:
    if name in _NAMED:
        return ("resources", role.target, kind, name)
    if (role.target, kind, name) == ("worker", "limits", "nvidia.com/gpu"):
        return ("gpus",)
    return ("extraValues", role.target, "resources", kind, name)
