"""Nodes of kwok: their pods are scheduled and have a status, but no container runs.

A pod runs at once. An annotation makes it end with an exit code, or keeps its image away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Node, Pod
from lightkube.types import PatchType

from tests.cluster.control_plane import ControlPlane, process
from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path
from tests.support.waiting import eventually

EXIT = "kwok.test/exit"
NO_IMAGE = "kwok.test/no-image"
NODES, ROOM = 8, {"cpu": "1000", "memory": "4000Gi", "pods": "400"}
STAGES = Path(__file__).with_name("kwok_stages.yaml")
STORAGE_CLASS = "held"


@contextmanager
def fake_nodes(plane: ControlPlane) -> Iterator[None]:
    """NODES nodes with room for 400 pods each, and a StorageClass whose volumes tests make."""
    there = Namespace("default", plane.kubeconfig, tool_path("kubectl"), tool_path("helm"))
    there.apply(storage_class())
    names = [f"node-{index}" for index in range(NODES)]
    client = client_of(plane)
    with kwok(plane):
        there.apply({"apiVersion": "v1", "kind": "List", "items": [_node(name) for name in names]})
        eventually("the nodes to be ready", lambda: all(is_free(client, name) for name in names))
        yield


@contextmanager
def kwok(plane: ControlPlane) -> Iterator[None]:
    """kwok, which looks after every node that is made."""
    command = (
        tool_path("kwok"),
        f"--kubeconfig={plane.kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes=true",
        "--server-address=",
    )
    with process("kwok", command, plane.layout, lambda: True):
        yield


def storage_class() -> dict[str, Any]:
    """The default class, whose volumes tests make."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
    }


def client_of(plane: ControlPlane) -> Client:
    """One connection for many requests: kubectl begins anew for each."""
    return Client(config=KubeConfig.from_file(plane.kubeconfig), trust_env=False)


def volume(there: Namespace, claim: str, storage_class: str = STORAGE_CLASS) -> dict[str, Any]:
    """A volume that is kept for a claim; what is written there, nobody asks."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{there.name}-{claim}"},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": storage_class,
            "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": there.name, "name": claim},
        },
    }


def volumes(there: Namespace, *names: str) -> None:
    """A volume for each claim of that name."""
    items = [volume(there, name) for name in names]
    there.apply({"apiVersion": "v1", "kind": "List", "items": items})


def end(client: Client, pods: Iterable[Pod], code: int, ended: str = "") -> None:
    """Let pods end with an exit code, by the one write that a kubelet would make of it.

    `ended` is when they say that was, as RFC 3339: now, when not told.
    """
    ended = ended or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for pod in pods:
        assert pod.metadata and pod.metadata.name and pod.spec
        terminated = {"exitCode": code, "finishedAt": ended, "reason": "Ended"}
        statuses = [
            {
                "name": one.name,
                "image": one.image,
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": terminated},
            }
            for one in pod.spec.containers
        ]
        status: dict[str, Any] = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": statuses,
        }
        client.patch(
            Pod.Status,
            pod.metadata.name,
            {"status": status},
            namespace=pod.metadata.namespace,
            patch_type=PatchType.MERGE,
        )


def pods_of(client: Client, namespace: str, labels: dict[str, str] | None = None) -> list[Pod]:
    """Those of a namespace."""
    return list(client.list(Pod, namespace=namespace, labels=dict(labels or {})))


def _node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": ROOM, "capacity": ROOM},
    }


def is_free(client: Client, name: str) -> bool:
    """Ready, and without the taint that a new node has until a controller has seen it."""
    node = client.get(Node, name)
    conditions = (node.status.conditions if node.status else None) or []
    ready = any(one.type == "Ready" and one.status == "True" for one in conditions)
    return ready and not (node.spec and node.spec.taints)
