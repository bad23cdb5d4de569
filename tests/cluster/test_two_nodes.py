"""Where the real scheduler puts a release on two nodes, which are kwok's: no container runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("mode", "together"), [("ReadWriteOnce", True), ("ReadWriteMany", False)])
def test_pods_that_mount_a_claim_share_a_node_if_only_one_can_mount_it(
    mode: str,
    together: bool,
    nodes: Nodes,
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
    claims = {
        of: {"volume": volume, "class": "", "accessModes": [mode]} for volume, of in volumes.items()
    }
    values = make_values(name, workers=4, ps=2, extraValues={"pod": nodes.pods}, **claims)
    release = make_release(name)
    release.install(values)

    def placed() -> list[tuple[str, str]] | None:
        at = places(release)
        return at if len(at) == 7 and all(node for _, node in at) else None

    at = eventually("every pod to have a node", placed, 60)
    assert {node for _, node in at} <= set(nodes.names)
    mounting = {node for role, node in at if role in MOUNTING}
    assert len(mounting) == (1 if together else 2), at
    release.uninstall()
    namespace.kubectl("delete", "pvc", *(f"{name}-{volume}" for volume in VOLUMES))
    storage.uninstall()
