"""Tasks get nodes together, near each other or apart: the real coscheduling, and the cluster's own.

The nodes are kwok's, so what is proven is where pods go; test_gang.py trains on the real node.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.cluster import turns
from tests.cluster.conftest import MakeValues, sleeping_pod
from tests.cluster.control_plane import control_plane
from tests.cluster.coscheduling import coscheduling, gang
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.kwok_nodes import LABEL, Nodes, kwok_nodes, places
from tests.slices import in_turn
from tests.support.waiting import eventually
from tools.machine import custom_resources

pytestmark = [pytest.mark.cluster, in_turn(turns.GANGS, of=turns.OF)]

Object = dict[str, Any]

CPUS, GPUS = 16, 2  # of a node
ASKED = {"requests": {"cpu": 3, "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
KEY = {"tf-cluster.io/test": "key"}


@pytest.fixture(scope="module")
def namespace(etcd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """Of a control plane of its own, whose nodes need not report."""
    with control_plane(tmp_path_factory.mktemp("scheduling")) as plane:
        custom_resources.install(plane.layout)
        yield plane.namespace("scheduling")


@pytest.fixture(scope="module")
def nodes(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with kwok_nodes(namespace, tmp_path_factory.mktemp("kwok")) as made:
        made.add("a", CPUS, GPUS)
        made.add("b", CPUS, GPUS)
        yield made


@pytest.fixture(scope="module")
def scheduler(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with coscheduling(namespace, tmp_path_factory.mktemp("coscheduling")) as name:
        yield name


Install = Callable[..., Release]


@pytest.fixture
def install(
    nodes: Nodes,
    make_release: Callable[[str], Release],
    make_values: MakeValues,
) -> Install:
    """A training whose tasks ask for 3 CPUs each, so five of them fit on a node."""

    def made(
        name: str, *, upgrade: bool = False, roles: Object | None = None, **params: Any
    ) -> Release:
        shared = {"accessModes": ["ReadWriteMany"]}
        values = make_values(
            name,
            **{
                "resources": dict.fromkeys(("chief", "worker", "ps"), ASKED),
                "extraValues": {
                    "pod": nodes.pods,
                    "cleanup": {"enabled": False},
                    **(roles or {}),
                },
                # Claims of two nodes that no class provides: the pods need none to be placed.
                "data": {"enabled": False},
                "log": {"claim": "shared", **shared},
                **params,
            },
        )
        release = make_release(name)
        (release.upgrade if upgrade else release.install)(values)
        return release

    return made


@pytest.fixture(scope="module", autouse=True)
def shared_claim(namespace: Namespace) -> None:
    """A bound claim that any node can mount."""
    volume = f"{namespace.name}-shared"
    room = {"storage": "1Gi"}
    modes = ["ReadWriteMany"]
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                "capacity": room,
                "accessModes": modes,
                "hostPath": {"path": "/nowhere/mounted"},
                "claimRef": {"namespace": namespace.name, "name": "shared"},
                "persistentVolumeReclaimPolicy": "Delete",
            },
        }
    )
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "shared"},
            "spec": {
                "accessModes": modes,
                "resources": {"requests": room},
                "volumeName": volume,
                "storageClassName": "",
            },
        }
    )


def all_placed(release: Release, count: int) -> list[tuple[str, str]]:
    def look() -> list[tuple[str, str]] | None:
        at = places(release)
        return at if len(at) == count and all(node for _, node in at) else None

    return eventually(f"{count} pods to have nodes", look, 60)


def take_away(release: Release) -> None:
    """Uninstall it, and wait until its places are free again."""
    release.uninstall()
    eventually("its pods to go", lambda: not release.objects("pod"), 60)


def told_why_they_wait(release: Release) -> None:
    """Wait until every place is taken in a scheduler's mind, and it has said so of the next pod."""

    def look() -> bool:
        said = [
            one.get("message", "")
            for pod in release.objects("pod")
            for one in pod["status"].get("conditions", [])
            if (one["type"], one["status"]) == ("PodScheduled", "False")
        ]
        return any("Insufficient cpu" in one for one in said)

    eventually("a pod to be told to wait", look, 60)


def test_a_training_that_does_not_fit_leaves_nothing_half_scheduled(
    install: Install, scheduler: str, nodes: Nodes
) -> None:
    release = install("toolarge", workers=9, ps=2, scheduling=gang(scheduler, timeoutSeconds=2))
    told_why_they_wait(release)
    assert {node for _, node in places(release)} == {""}

    nodes.add("c", CPUS, GPUS)
    at = all_placed(release, 12)
    assert {node for _, node in at} <= {*nodes.names}
    take_away(release)


def test_without_a_gang_the_same_training_is_half_scheduled(install: Install, nodes: Nodes) -> None:
    release = install("half", workers=14, ps=2)

    def full() -> bool:
        return sum(1 for _, node in places(release) if node) == 5 * len(nodes.names)

    eventually("every place to be taken", full, 60)
    assert sum(1 for _, node in places(release) if not node) == 17 - 5 * len(nodes.names)
    take_away(release)


def test_two_trainings_that_fit_one_at_a_time_do_not_block_each_other(
    install: Install, scheduler: str, nodes: Nodes
) -> None:
    workers = 5 * len(nodes.names) - 5

    def begin(name: str) -> Release:
        return install(name, workers=workers, scheduling=gang(scheduler))

    with ThreadPoolExecutor(2) as at_once:  # so that the scheduler gets their pods mixed
        two = list(at_once.map(begin, ("one", "two")))

    def first() -> Release | None:
        taken = [[node for _, node in places(release) if node] for release in two]
        whole = [release for release, at in zip(two, taken, strict=True) if len(at) == workers + 2]
        assert all(len(at) in (0, workers + 2) for at in taken) or not whole, taken
        return whole[0] if whole else None

    placed = eventually("one of them to be placed", first, 60)
    (other,) = (release for release in two if release != placed)
    assert {node for _, node in places(other)} == {""}
    take_away(placed)
    all_placed(other, workers + 2)
    take_away(other)


def test_a_lost_task_finds_a_place_unless_others_are_done_and_a_smaller_gang_helps(
    install: Install, scheduler: str, namespace: Namespace
) -> None:
    release = install("late", workers=3, scheduling=gang(scheduler))
    all_placed(release, 5)

    def lose(component: str) -> None:
        (pod,) = release.objects("pod", component)
        namespace.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")

    lose("ps")
    all_placed(release, 5)

    # No task of ours is done before the whole training is: what follows, a program must do itself.
    for pod in release.objects("pod", "worker"):
        if _index(pod) != "0":
            _complete(namespace, pod)
    eventually(
        "its Job to know", lambda: release.one("job", "worker")["status"].get("succeeded") == 2, 30
    )
    lose("ps")
    (job,) = release.objects("job", "worker")

    def waits() -> bool:
        (pod,) = release.objects("pod", "ps")
        return not pod["spec"].get("nodeName") and bool(pod["status"].get("conditions"))

    eventually("the ps to wait for a worker that is done", waits, 30)
    install("late", upgrade=True, workers=3, scheduling=gang(scheduler, minMember=3))
    all_placed(release, 5)
    (same,) = release.objects("job", "worker")
    assert same["metadata"]["uid"] == job["metadata"]["uid"]  # it restarted nothing
    take_away(release)


def _complete(namespace: Namespace, pod: Object) -> None:
    """Say of a pod what a kubelet says when its container has exited with 0."""
    ended = {"status": {"phase": "Succeeded"}}
    name = pod["metadata"]["name"]
    namespace.kubectl("patch", "pod", name, "--subresource=status", f"--patch={json.dumps(ended)}")


def _index(pod: Object) -> str:
    return str(pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index"))


@pytest.fixture
def four_nodes(nodes: Nodes) -> list[str]:
    """Their names, however many of them the cases before have made."""
    for name in "abcd"[len(nodes.names) :]:
        nodes.add(name, CPUS, GPUS)
    return nodes.names


def wish(placement: str) -> Object:
    """The params of a wish; of none, with which the same training has to lie otherwise."""
    return {"scheduling": {"placement": placement}} if placement else {}


@pytest.mark.parametrize(("placement", "used"), [("binpack", 1), ("", 4)])
@pytest.mark.usefixtures("four_nodes")
def test_tasks_are_packed_if_they_shall_be(placement: str, used: int, install: Install) -> None:
    release = install(f"pack{placement}", workers=2, ps=2, **wish(placement))
    at = all_placed(release, 5)
    assert len({node for _, node in at}) == used, at
    take_away(release)


@pytest.mark.parametrize(("placement", "used"), [("binpack", [2, 2]), ("", [1, 1, 1, 1])])
@pytest.mark.usefixtures("four_nodes")
def test_workers_take_all_gpus_of_a_node_and_leave_whole_nodes_if_they_shall(
    placement: str, used: list[int], install: Install
) -> None:
    gpus = {"strategy": "all-reduce", "gpus": 1, "resources": {"worker": ASKED}}
    release = install(f"gpus{placement}", workers=4, **gpus, **wish(placement))
    at = all_placed(release, 4)
    assert sorted(Counter(node for _, node in at).values()) == used, at
    take_away(release)


@pytest.mark.parametrize(("placement", "used"), [("spread", 2), ("", 1)])
def test_workers_are_apart_if_they_shall_be(
    placement: str, used: int, install: Install, nodes: Nodes, four_nodes: list[str]
) -> None:
    """By themselves both go to the node that has fewer of the training's pods."""
    free, busy = four_nodes[:2]
    on_busy = {**nodes.pods["nodeSelector"], "kubernetes.io/hostname": busy}
    roles = {"ps": {"nodeSelector": on_busy}, "worker": held(free, busy)}
    release = install(f"apart{placement}", workers=2, ps=3, roles=roles, **wish(placement))
    at = placed_at_last(release, 6, 2, nodes)
    assert len({node for role, node in at if role == "worker"}) == used, at
    take_away(release)


@pytest.mark.parametrize("near", [True, False])
def test_parameter_servers_go_where_a_worker_is_if_they_shall(
    near: bool, install: Install, nodes: Nodes, four_nodes: list[str]
) -> None:
    """They are placed last: who is there before the worker has nobody to be near."""
    wishes: Object = {"scheduling": {"psNearWorkers": True}} if near else {}
    roles = {"ps": held(*four_nodes)}
    release = install(f"near{near}".lower(), workers=1, ps=2, roles=roles, **wishes)
    at = placed_at_last(release, 4, 2, nodes)
    (worker,) = (node for role, node in at if role == "worker")
    beside = [node == worker for role, node in at if role == "ps"]
    assert beside == [near, near], at
    take_away(release)


def held(*nodes: str) -> Object:
    """Values of a role whose pods get no place before the key has one, and then on these nodes."""
    key = {"topologyKey": LABEL, "labelSelector": {"matchLabels": KEY}}
    on = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {
        "affinity": {
            "podAffinity": {required: [key]},
            "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [on]}]}},
        }
    }


def placed_at_last(release: Release, count: int, last: int, nodes: Nodes) -> list[tuple[str, str]]:
    """All places, when those pods that are held have got theirs after all others.

    The key is a pod: when it has a place all nodes are open, at one moment.
    """

    def others() -> bool:
        return sum(1 for _, node in places(release) if node) == count - last

    eventually("the others to have nodes", others, 60)
    key = sleeping_pod("key", {}, **nodes.pods)
    key["metadata"]["labels"] = KEY
    release.namespace.apply(key)
    at = all_placed(release, count)
    release.namespace.kubectl("delete", "pod", "key", "--grace-period=0", "--force")
    return at
