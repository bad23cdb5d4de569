"""Where the real scheduler puts a release on two nodes, which are kwok's: no container runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.serving.releasing import CHART as SERVING
from tf_cluster.cluster.serving.sharing import storage_values

from tests.cluster.conftest import ROOT, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.kwok_nodes import Nodes, kwok_nodes, places
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

VOLUMES = ("data", "log")
MOUNTING = ("chief", "worker")


@pytest.fixture(scope="module")
def nodes(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with kwok_nodes(namespace, tmp_path_factory.mktemp("kwok")) as made:
        made.add("a")
        made.add("b")
        yield made


Places = list[tuple[str, str]]
Training = Callable[[str, str], AbstractContextManager[Places]]


@pytest.fixture
def training(
    nodes: Nodes,
    namespace: Namespace,
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tmp_path: Path,
) -> Training:
    """A training of a name, on claims of an access mode: the roles of its pods, and their nodes."""

    @contextmanager
    def placed(name: str, mode: str) -> Iterator[Places]:
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
        claims = {
            of: {"volume": volume, "class": "", "accessModes": [mode]}
            for volume, of in volumes.items()
        }
        values = make_values(name, workers=4, ps=2, extraValues={"pod": nodes.pods}, **claims)
        release = make_release(name)
        release.install(values)

        def look() -> Places | None:
            at = places(release)
            return at if len(at) == 7 and all(node for _, node in at) else None

        at = eventually("every pod to have a node", look, 60)
        assert {node for _, node in at} <= set(nodes.names)
        yield at
        release.uninstall()
        namespace.kubectl("delete", "pvc", *(f"{name}-{volume}" for volume in VOLUMES))
        storage.uninstall()

    return placed


@pytest.mark.parametrize(("mode", "together"), [("ReadWriteOnce", True), ("ReadWriteMany", False)])
def test_pods_that_mount_a_claim_share_a_node_if_only_one_can_mount_it(
    mode: str, together: bool, training: Training
) -> None:
    with training(mode.lower(), mode) as at:
        mounting = {node for role, node in at if role in MOUNTING}
        assert len(mounting) == (1 if together else 2), at


def test_a_server_goes_to_the_node_of_the_training_that_mounts_its_claim(
    training: Training, nodes: Nodes, namespace: Namespace, tmp_path: Path
) -> None:
    """The control says nothing of the training: each would rather be on the other node."""
    with training("mounts", "ReadWriteOnce") as at:
        (node,) = {node for role, node in at if role in MOUNTING}
        (other,) = {*nodes.names} - {node}
        found = [("job", job) for job in namespace.objects("job")]
        beside = storage_values("mounts-log", ["ReadWriteOnce"], found, ("beside",))
        assert beside == {"besideReleases": ["mounts"]}
        file = tmp_path / "server.json"
        for name, storage, where in (("beside", beside, node), ("alone", {}, other)):
            file.write_text(json.dumps(of_claim("mounts-log", storage, nodes, other)))
            assert nodes_of_two(namespace, name, file) == [where, where], name


def of_claim(claim: str, storage: dict[str, Any], nodes: Nodes, rather: str) -> dict[str, Any]:
    """Values of two pods that serve a model on a claim, and would rather be on one node."""
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": [rather]}
    term = {"weight": 100, "preference": {"matchExpressions": [hostname]}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    source = {"claim": {"name": claim, "path": "mounts/1/export"}}
    return {
        "models": {"digits": {"source": source}},
        "replicas": 2,
        "storage": storage,
        "pod": {**nodes.pods, "affinity": {"nodeAffinity": preferred}},
    }


def nodes_of_two(namespace: Namespace, release: str, values: Path) -> list[str]:
    """Install a server of two pods, and uninstall it; the nodes that they had."""
    marks = {"app.kubernetes.io/instance": release, "app.kubernetes.io/component": "serving"}

    def look() -> list[str] | None:
        at = [pod["spec"].get("nodeName", "") for pod in namespace.objects("pod", **marks)]
        return at if len(at) == 2 and all(at) else None

    namespace.helm("install", release, str(SERVING), f"--values={values}")
    at = eventually(f"the pods of {release} to have nodes", look, 60)
    namespace.helm("uninstall", release)
    return at
