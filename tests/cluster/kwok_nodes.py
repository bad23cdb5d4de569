"""Nodes that are kwok's: the real scheduler puts pods on them, and no container runs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.support.waiting import eventually
from tests.tied import tied_to_us

LABEL = "tf-cluster.io/test-nodes"

# What kwok does: a node is ready and says so every 10 s, a pod that is deleted goes. Pods stay
# Pending on their node. The node's status is its sign of life: kwok updates a Lease by what it
# knows of it, which by Debian's etcd 3.4 is old most of the time, so most updates are refused, and
# on a busy machine no one worked for the 50 s after which a node is taken for lost.
STAGES = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
      - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
        operator: NotIn
        values: ["True"]
  next:
    statusTemplate: |
      conditions:
        - type: Ready
          status: "True"
          reason: Kwok
          message: no container runs here
          lastHeartbeatTime: {{ Now | Quote }}
          lastTransitionTime: {{ Now | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-heartbeat}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
      - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
        operator: In
        values: ["True"]
  delay: {durationMilliseconds: 10000}
  next:
    statusTemplate: |
      conditions:
        - type: Ready
          status: "True"
          reason: Kwok
          message: no container runs here
          lastHeartbeatTime: {{ Now | Quote }}
  immediateNextStage: true
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - key: .metadata.deletionTimestamp
        operator: Exists
  next:
    delete: true
"""


class Nodes:
    """Nodes of one namespace's own: nobody else's pod tolerates their taint."""

    def __init__(self, namespace: Namespace) -> None:
        self.names: list[str] = []
        self.pods: dict[str, Any] = {
            "nodeSelector": {LABEL: namespace.name},
            "tolerations": [{"key": LABEL, "operator": "Exists", "effect": "NoSchedule"}],
        }
        """Values of the pods that may go there."""
        self._namespace = namespace

    def add(self, name: str, cpu: int = 16, gpus: int = 0) -> None:
        """One node more, which is ready when this returns."""
        name = f"{self._namespace.name}-{name}"
        self.names.append(name)
        self._namespace.apply(_node(name, self._namespace.name, cpu, gpus))
        eventually(f"{name} to be ready", lambda: _is_ready(self._namespace, name), 30)


@contextmanager
def kwok_nodes(namespace: Namespace, folder: Path) -> Iterator[Nodes]:
    """kwok, with no node yet; its nodes go with it."""
    (folder / "stages.yaml").write_text(STAGES)
    nodes = Nodes(namespace)
    with (folder / "log").open("wb") as log:
        kwok = subprocess.Popen(
            tied_to_us(
                tool_path("kwok"),
                f"--kubeconfig={namespace.kubeconfig}",
                f"--config={folder}/stages.yaml",
                f"--manage-nodes-with-label-selector={LABEL}={namespace.name}",
                "--server-address=",
                "--node-lease-duration-seconds=0",
            ),
            stdout=log,
            stderr=log,
            # By Debian's etcd 3.4 a streamed list would come half a minute late.
            env={**os.environ, "KUBE_FEATURE_WatchListClient": "false"},
        )
        try:
            yield nodes
        finally:
            if nodes.names:
                namespace.kubectl("delete", "node", *nodes.names, "--ignore-not-found")
            kwok.kill()
            kwok.wait()


def _node(name: str, owner: str, cpu: int, gpus: int) -> dict[str, Any]:
    room = {"cpu": str(cpu), "memory": "64Gi", "pods": "50"}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {LABEL: owner, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [{"key": LABEL, "value": owner, "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    }


def _is_ready(namespace: Namespace, name: str) -> bool:
    node = json.loads(namespace.kubectl("get", "node", name, "--output=json"))
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def places(release: Release) -> list[tuple[str, str]]:
    """The role of each pod of an attempt, and its node; "" while it has none."""
    found = release.objects("pod")
    return [
        (pod["metadata"]["labels"]["app.kubernetes.io/component"], pod["spec"].get("nodeName", ""))
        for pod in found
        if pod["metadata"]["labels"].get("tf-cluster.io/attempt")
    ]
