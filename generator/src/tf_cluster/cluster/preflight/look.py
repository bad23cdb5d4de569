"""Reads what preflight looks at, each kind once and a page at a time.

A Secret is asked for by its name, and nothing but its metadata is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.cluster.connection import (
    METADATA_OF_ONE,
    AbsentError,
    Connection,
    ForbiddenError,
)
from tf_cluster.cluster.preflight.provisioners import REMOVED
from tf_cluster.cluster.preflight.terms import Json

_OF_CLUSTER = {
    "nodes": "/api/v1/nodes",
    "persistentvolumes": "/api/v1/persistentvolumes",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
}
_OF_NAMESPACE = {
    "resourcequotas": "/api/v1/namespaces/{}/resourcequotas",
    "limitranges": "/api/v1/namespaces/{}/limitranges",
    "persistentvolumeclaims": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "jobs": "/apis/batch/v1/namespaces/{}/jobs",
    "deployments": "/apis/apps/v1/namespaces/{}/deployments",
}
_NAMED = {
    "secrets": "/api/v1/namespaces/{}/secrets",
    "configmaps": "/api/v1/namespaces/{}/configmaps",
    "services": "/api/v1/namespaces/{}/services",
    "serviceaccounts": "/api/v1/namespaces/{}/serviceaccounts",
    "networkpolicies": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "runtimeclasses": "/apis/node.k8s.io/v1/runtimeclasses",
}


_AS_JSON = {"Accept": "application/json"}
_OF_METADATA = ("name", "namespace", "labels", "ownerReferences", "deletionTimestamp")
_OF_SPEC = (
    *("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"),
    *("schedulerName", "schedulingGates", "priority", "preemptionPolicy", "resourceClaims"),
    *("overhead", "resources"),
)
_CONDITIONS = ("PodScheduled", "PodResizePending")


@dataclass(frozen=True)
class Cluster:
    """What a cluster has, as the API server says it.

    `pods` are those of all namespaces; where that is forbidden, of one. `unread` has the kinds
    that may not be read. `version` is empty where no class has a provisioner that some version of
    Kubernetes has no more.
    """

    namespace: str
    nodes: tuple[Json, ...] = ()
    pods: tuple[Json, ...] = ()
    persistentvolumes: tuple[Json, ...] = ()
    storageclasses: tuple[Json, ...] = ()
    priorityclasses: tuple[Json, ...] = ()
    resourcequotas: tuple[Json, ...] = ()
    limitranges: tuple[Json, ...] = ()
    persistentvolumeclaims: tuple[Json, ...] = ()
    jobs: tuple[Json, ...] = ()
    deployments: tuple[Json, ...] = ()
    groups: frozenset[str] = frozenset()
    version: str = ""
    unread: frozenset[str] = field(default_factory=frozenset)


def look(connection: Connection) -> Cluster:
    """All of it, for the connection's namespace, which is there. Raises ClusterError."""
    found: dict[str, tuple[Json, ...]] = {}
    unread: set[str] = set()
    for kind, path in {**_OF_CLUSTER, **_OF_NAMESPACE}.items():
        try:
            found[kind] = _listed(connection, kind, path.format(connection.namespace))
        except ForbiddenError:
            unread.add(kind)
    try:
        living = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
        asked = connection.items("list pods", "/api/v1/pods", living, _AS_JSON)
        found["pods"] = tuple(map(_kept, asked))
    except ForbiddenError:
        unread.add("pods")
    groups = _json(connection, "list the API groups", "/apis")
    is_old = any(one["provisioner"] in REMOVED for one in found.get("storageclasses", ()))
    version = _json(connection, "ask the version", "/version") if is_old else {}
    return Cluster(
        namespace=connection.namespace,
        **found,
        groups=frozenset(
            one["groupVersion"] for group in groups["groups"] for one in group["versions"]
        ),
        version=str(version.get("gitVersion", "")),
        unread=frozenset(unread),
    )


def metadata(connection: Connection, kind: str, name: str) -> Json | None:
    """The metadata of an object; None where there is none. Raises ClusterError."""
    path = f"{_NAMED[kind].format(connection.namespace)}/{name}"
    try:
        found = _json(connection, f"get {kind} {name}", path, accept=METADATA_OF_ONE)
    except AbsentError:
        return None
    return dict(found["metadata"])


def runtime_class(connection: Connection, name: str) -> Json | None:
    """A RuntimeClass; None where there is none. Raises ClusterError."""
    try:
        return _json(connection, f"get runtimeclass {name}", f"{_NAMED['runtimeclasses']}/{name}")
    except AbsentError:
        return None


def _kept(pod: Json) -> Json:
    """What is looked at of a pod: a large cluster has many, and the rest is most of each."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    return {
        "metadata": {key: metadata[key] for key in _OF_METADATA if key in metadata},
        "spec": {
            **{key: spec[key] for key in _OF_SPEC if key in spec},
            **{
                key: [_container(one) for one in spec[key]]
                for key in ("containers", "initContainers")
                if spec.get(key)
            },
            "volumes": [
                one for one in spec.get("volumes") or () if one.get("persistentVolumeClaim")
            ],
        },
        "status": {
            "phase": status.get("phase"),
            "conditions": [
                one for one in status.get("conditions") or () if one["type"] in _CONDITIONS
            ],
        },
    }


def _container(one: Json) -> dict[str, Any]:
    ports = [port for port in one.get("ports") or () if port.get("hostPort")]
    kept = {key: one[key] for key in ("name", "resources", "restartPolicy", "image") if key in one}
    return {**kept, "ports": ports}


def _listed(connection: Connection, kind: str, path: str) -> tuple[Json, ...]:
    found: Iterable[Any] = connection.items(f"list {kind}", path, {}, _AS_JSON)
    return tuple(found)


def _json(
    connection: Connection, what: str, path: str, accept: str = "application/json"
) -> dict[str, Any]:
    headers = {"Accept": accept}
    answer = connection.ask(
        what, lambda: connection.http.get(path, headers=headers).raise_for_status()
    )
    return dict(answer.json())
