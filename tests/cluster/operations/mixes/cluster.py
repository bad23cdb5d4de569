"""One mix on a control plane of its own: its nodes are kwok's, the scheduler is the real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from lightkube import ApiError, Client, codecs
from lightkube.models.core_v1 import NodeCondition, PodCondition
from lightkube.resources.core_v1 import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceQuota,
    ServiceAccount,
)

from tests.cluster.control_plane import ControlPlane, control_plane
from tests.cluster.fake_nodes import EXIT, client_of, kwok, storage_class
from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes.mix import PRIORITY, RUNTIME, Mix
from tests.cluster.operations.mixes.places import NOBODY
from tests.cluster.operations.mixes.storage import LATER
from tests.support.waiting import eventually

ELSEWHERE = "others"
NOT_READY = "node.kubernetes.io/not-ready"


@dataclass(frozen=True)
class Cluster:
    """A running one, where no mix is, or one."""

    plane: ControlPlane
    client: Client

    def make(self, obj: Object, namespace: str | None = None) -> None:
        """One object. Raises ApiError."""
        made: Any = codecs.from_dict(obj)
        self.client.create(made, namespace=namespace)

    def pods(self, namespace: str) -> list[Pod]:
        """All pods there."""
        return list(self.client.list(Pod, namespace=namespace))


@contextmanager
def empty_cluster(folder: Path) -> Iterator[Cluster]:
    """One without nodes, with all that several mixes share."""
    with control_plane(folder) as plane, kwok(plane):
        cluster = Cluster(plane, client_of(plane))
        later = storage_class() | {"volumeBindingMode": "WaitForFirstConsumer"}
        later["metadata"] = {"name": LATER}
        urgent = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": PRIORITY},
            "value": 1000,
        }
        heavy = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME},
            "handler": "runc",
            "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
        }
        for obj in (storage_class(), later, urgent, heavy):
            cluster.make(obj)
        _make_namespace(cluster, ELSEWHERE)
        yield cluster


@contextmanager
def made(mix: Mix, cluster: Cluster) -> Iterator[None]:
    """All of a mix but its training; what is there at the end goes."""
    try:
        _make(mix, cluster)
        yield
    finally:
        _remove(mix, cluster)


def _make(mix: Mix, cluster: Cluster) -> None:
    _make_namespace(cluster, mix.name)
    for obj in (*mix.nodes, *mix.volumes, *mix.claims):
        cluster.make(obj, mix.name)
    names = [node["metadata"]["name"] for node in mix.nodes]
    eventually("the nodes to be ready", lambda: _are_ready(cluster.client, names))
    for namespace, pods in ((ELSEWHERE, mix.others), (mix.name, mix.here)):
        for pod in pods:
            cluster.make(pod, namespace)
    if mix.claims:
        eventually("the claims to be bound", lambda: _are_bound(cluster.client, mix))
    number = len(mix.others) + len(mix.here)
    eventually("others' pods", lambda: _are_settled(cluster.pods("*"), number))
    for rule in mix.rules:
        cluster.make(rule, mix.name)
    eventually("the quotas to count", lambda: _are_counted(cluster, mix))


def others_go(mix: Mix, cluster: Cluster) -> None:
    """All pods go but the training's."""
    cluster.client.deletecollection(Pod, namespace=ELSEWHERE, grace_period=0)
    for pod in mix.here:
        cluster.client.delete(Pod, pod["metadata"]["name"], namespace=mix.name, grace_period=0)


def _remove(mix: Mix, cluster: Cluster) -> None:
    client = cluster.client
    client.delete(Namespace, mix.name)  # no pod is made there any more
    for pod in cluster.pods(mix.name):
        _release(client, pod)
    client.deletecollection(Pod, namespace=mix.name, grace_period=0)
    client.deletecollection(Pod, namespace=ELSEWHERE, grace_period=0)
    eventually("no pods", lambda: not cluster.pods("*"), 30)
    client.deletecollection(Node)
    client.deletecollection(PersistentVolume)


def _release(client: Client, pod: Pod) -> None:
    """Its Job holds a pod until it has counted it, which takes seconds when the Job goes too."""
    assert pod.metadata and pod.metadata.name
    if not pod.metadata.finalizers:
        return
    patch = {"metadata": {"finalizers": None}}
    try:
        client.patch(Pod, pod.metadata.name, patch, namespace=pod.metadata.namespace)
    except ApiError as error:
        if error.status.code != HTTPStatus.NOT_FOUND:
            raise


def _make_namespace(cluster: Cluster, name: str) -> None:
    def is_new() -> bool:
        try:
            cluster.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except ApiError as error:
            if error.status.code != HTTPStatus.CONFLICT:
                raise
            return False  # the same mix was here before, and goes
        return True

    eventually(f"a new namespace {name}", is_new, 30)
    eventually("its account", lambda: _is_there(cluster.client, name))


def _is_there(client: Client, namespace: str) -> bool:
    return bool(list(client.list(ServiceAccount, namespace=namespace)))


def _are_ready(client: Client, names: list[str]) -> bool:
    nodes = {node.metadata.name: node for node in client.list(Node) if node.metadata}
    return all(name in nodes and _is_ready(nodes[name]) for name in names)


def _is_ready(node: Node) -> bool:
    conditions: list[NodeCondition] = (node.status.conditions if node.status else None) or []
    ready = any(one.type == "Ready" and one.status == "True" for one in conditions)
    taints = (node.spec.taints if node.spec else None) or []
    held = bool(node.spec and node.spec.unschedulable)
    told = any(taint.key == "node.kubernetes.io/unschedulable" for taint in taints)
    return ready and held == told and not any(taint.key == NOT_READY for taint in taints)


def _are_bound(client: Client, mix: Mix) -> bool:
    claims = client.list(PersistentVolumeClaim, namespace=mix.name)
    return all(claim.status and claim.status.phase == "Bound" for claim in claims)


def _are_settled(pods: list[Pod], number: int) -> bool:
    return len(pods) == number and all(map(_is_settled, pods))


def _is_settled(pod: Pod) -> bool:
    """It runs or has ended, or the scheduler has no place for it."""
    phase = pod.status.phase if pod.status else ""
    ends = EXIT in ((pod.metadata and pod.metadata.annotations) or {})
    return (
        phase == ("Succeeded" if ends else "Running")
        or bool(unplaced(pod))
        or bool(pod.spec and pod.spec.schedulerName == NOBODY)
    )


def unplaced(pod: Pod) -> str:
    """Why the scheduler has found no place for a pod; nothing while it has not said so."""
    conditions: list[PodCondition] = (pod.status.conditions if pod.status else None) or []
    for one in conditions:
        if one.type == "PodScheduled" and one.status == "False":
            return f"{one.reason}: {one.message}"
    return ""


def _are_counted(cluster: Cluster, mix: Mix) -> bool:
    quotas = list(cluster.client.list(ResourceQuota, namespace=mix.name))
    wanted = sum(rule["kind"] == "ResourceQuota" for rule in mix.rules)
    return len(quotas) == wanted and all(
        one.spec and one.status and one.status.hard == one.spec.hard and one.status.used is not None
        for one in quotas
    )
