"""What makes pods in a namespace, as the API server gives it: their volumes and claims."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.connection import Connection

Object = Mapping[str, Any]
LOG = "/log"
"""Where the chart mounts the volume of runs."""
KINDS = {
    "job": "/apis/batch/v1/namespaces/{}/jobs",
    "cronjob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "statefulset": "/apis/apps/v1/namespaces/{}/statefulsets",
    "daemonset": "/apis/apps/v1/namespaces/{}/daemonsets",
    "configmap": "/api/v1/namespaces/{}/configmaps",
    "pod": "/api/v1/namespaces/{}/pods",
}
"""What may name a run or mount a claim. Of several the first is told: rather what makes pods."""


def objects(
    connection: Connection, namespace: str, kinds: Iterable[str] = KINDS
) -> list[tuple[str, Object]]:
    """All of some kinds in a namespace, each with its kind. Raises ClusterError."""
    found = []
    for kind in kinds:
        path = KINDS[kind]
        what = f"list {kind}s in namespace {namespace}"
        for one in connection.items(what, path.format(namespace), {}, {}):
            found.append((kind, one))
    return found


def directory(kind: str, one: Object) -> tuple[str, str] | None:
    """The training's directory and the run of a task, or of a pod beside it; None for others."""
    template, spec = template_of(kind, one)
    marks = marks_of(template)
    run = marks.get(labels.RUN)
    if not run:
        return None
    attempt, subdomain = marks.get(labels.ATTEMPT, ""), str(spec.get("subdomain") or "")
    if attempt and subdomain.endswith(f"-{attempt}"):
        return subdomain.removesuffix(f"-{attempt}"), run
    name = str((one.get("metadata") or {}).get("name"))
    before, found, _ = f"{name}-".rpartition(f"-{marks.get(labels.COMPONENT)}-")
    return (before if found else ""), run


def pod_spec(kind: str, one: Object) -> Object:
    """The spec of the pods of an object."""
    return template_of(kind, one)[1]


def claims_of(spec: Object) -> dict[str, str]:
    """The claims that a pod mounts, by the names of its volumes."""
    return {
        str(one.get("name")): str(one["persistentVolumeClaim"].get("claimName"))
        for one in spec.get("volumes") or ()
        if one.get("persistentVolumeClaim")
    }


def containers(spec: Object) -> Iterator[Object]:
    """All containers of a pod."""
    for part in ("initContainers", "containers"):
        yield from spec.get(part) or ()


def has_ended(kind: str, one: Object) -> bool:
    """Whether a pod or Job is over: it reads nothing any more."""
    status = one.get("status") or {}
    if kind == "pod":
        return status.get("phase") in ("Succeeded", "Failed")
    ends = {"Complete", "Failed"}
    return kind == "job" and any(
        each.get("type") in ends and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )


def template_of(kind: str, one: Object) -> tuple[Object, Object]:
    """Metadata and spec of the pods of an object."""
    spec = one.get("spec") or {}
    if kind == "pod":
        return one.get("metadata") or {}, spec
    if kind == "cronjob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = spec.get("template") or {}
    return template.get("metadata") or {}, template.get("spec") or {}


def marks_of(metadata: Object) -> Mapping[str, str]:
    """The labels."""
    return metadata.get("labels") or {}
