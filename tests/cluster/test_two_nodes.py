"""Where the real scheduler puts a release on two nodes, which are kwok's: no container runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import ROOT, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.support.waiting import eventually
from tests.tied import tied_to_us

pytestmark = pytest.mark.cluster

VOLUMES = ("data", "log")
MOUNTING = ("chief", "worker")
LABEL = "tf-cluster.io/test-nodes"

# What kwok does: a node is ready, a pod that is deleted goes. Pods stay Pending on their node.
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


@pytest.fixture(scope="module")
def nodes(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two nodes of this module's own: nobody else's pod tolerates their taint."""
    names = [f"{namespace.name}-{letter}" for letter in "ab"]
    folder = tmp_path_factory.mktemp("kwok")
    (folder / "stages.yaml").write_text(STAGES)
    log = (folder / "log").open("wb")
    kwok = subprocess.Popen(
        tied_to_us(
            tool_path("kwok"),
            f"--kubeconfig={namespace.kubeconfig}",
            f"--config={folder}/stages.yaml",
            f"--manage-nodes-with-label-selector={LABEL}={namespace.name}",
            "--server-address=",
        ),
        stdout=log,
        stderr=log,
    )
    try:
        for name in names:
            namespace.apply(_node(name, namespace.name))
        for name in names:
            eventually(f"{name} to be ready", lambda name=name: _is_ready(namespace, name), 30)
        yield names
    finally:
        namespace.kubectl("delete", "node", *names, "--ignore-not-found")
        kwok.kill()
        kwok.wait()
        log.close()


def _node(name: str, owner: str) -> dict[str, Any]:
    room = {"cpu": "16", "memory": "64Gi", "pods": "50"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {LABEL: owner, "kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": LABEL, "value": owner, "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    }


def _is_ready(namespace: Namespace, name: str) -> bool:
    node = json.loads(namespace.kubectl("get", "node", name, "--output=json"))
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.mark.parametrize(("mode", "together"), [("ReadWriteOnce", True), ("ReadWriteMany", False)])
def test_pods_that_mount_a_claim_share_a_node_if_only_one_can_mount_it(
    mode: str,
    together: bool,
    nodes: list[str],
    namespace: Namespace,
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tmp_path: Path,
) -> None:
    name = mode.lower()
    volumes = {f"{namespace.name}-{name}-{volume}": volume for volume in VOLUMES}
    static = {
        "volumes": {
            volume: {
                "hostPath": "/nowhere/mounted",
                "accessModes": [mode],
                "claim": {"namespace": namespace.name, "name": f"{name}-{of}"},
            }
            for volume, of in volumes.items()
        }
    }
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps(static))
    storage = Release(namespace, f"volumes-{name}", ROOT / "charts" / "tf-storage")
    storage.install(file)
    pods = {
        "nodeSelector": {LABEL: namespace.name},
        "tolerations": [{"key": LABEL, "operator": "Exists", "effect": "NoSchedule"}],
    }
    claims = {
        of: {"volume": volume, "class": "", "accessModes": [mode]} for volume, of in volumes.items()
    }
    values = make_values(name, workers=4, ps=2, extraValues={"pod": pods}, **claims)
    release = make_release(name)
    release.install(values)

    def placed() -> list[tuple[str, str]] | None:
        found = release.objects("pod")
        tasks = [pod for pod in found if pod["metadata"]["labels"].get("tf-cluster.io/attempt")]
        at = [
            (pod["metadata"]["labels"]["app.kubernetes.io/component"], pod["spec"].get("nodeName"))
            for pod in tasks
        ]
        return at if len(at) == 7 and all(node for _, node in at) else None

    at = eventually("every pod to have a node", placed, 60)
    assert {node for _, node in at} <= set(nodes)
    mounting = {node for role, node in at if role in MOUNTING}
    assert len(mounting) == (1 if together else 2), at
    release.uninstall()
    namespace.kubectl("delete", "pvc", *(f"{name}-{volume}" for volume in VOLUMES))
    storage.uninstall()
