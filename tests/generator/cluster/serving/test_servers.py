"""Which server and model a name means, and how far its pods are."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.serving import rollout
from tf_cluster.cluster.serving.asking import server_pod
from tf_cluster.cluster.serving.rollout import await_ready, rollout_of, why_not_ready
from tf_cluster.cluster.serving.servers import Server, meant, servers
from tf_cluster.cluster.serving.service import host_of, outside, read_service
from tf_cluster.exits import RefusedError

from tests.generator.cluster.conftest import EMPTY, config
from tests.generator.cluster.conftest import Server as ApiServer
from tests.generator.cluster.serving.documents import Object, deployment, model, pod


def known(*deployments: Object) -> list[Server]:
    return servers("vision", [("deployment", one) for one in deployments])


def test_a_server_is_what_its_deployment_says() -> None:
    gated = model("run", {"specific": [3.0, 4.0]}, stable=3)
    (one,) = known(deployment("team", digits=gated, faces=model("image")))
    assert (one.release, one.name, one.image) == ("team", "team", "tensorflow/serving:2.21.0")
    assert (one.host, one.pods_host) == ("team.vision.svc", "team-pods.vision.svc")
    digits = one.model("digits")
    assert digits is not None
    assert (digits.loaded, digits.labels, digits.where) == (
        (3, 4),
        {"stable": 3},
        "claim models/digits",
    )
    faces = one.model("faces")
    assert faces is not None
    assert (faces.loaded, faces.where) == ((), "its image")


def test_what_is_no_server_is_none() -> None:
    bare = deployment()
    del bare["metadata"]["annotations"]["tf-cluster.io/models"]
    task = deployment()
    task["metadata"]["labels"]["app.kubernetes.io/component"] = "ps"
    assert known(bare, task, {"metadata": {"name": "other"}}) == []
    broken = deployment()
    broken["metadata"]["annotations"]["tf-cluster.io/models"] = "{"
    with pytest.raises(RefusedError, match="deployment/digits-serving has an annotation"):
        known(broken)


BOTH = (
    deployment("one", digits=model(), faces=model()),
    deployment("two", digits=model()),
    deployment("words", words=model()),
)


@pytest.mark.parametrize(
    ("name", "release", "found"),
    [
        ("faces", None, ("one", "faces")),
        ("digits", "two", ("two", "digits")),
        ("words", None, ("words", "words")),
        ("two", None, ("two", "digits")),
        ("digits", None, "digits is served by several releases, one, two: choose by --release"),
        ("one", None, "release one serves digits, faces: name the model"),
        ("digits", "three", "no server of release 'three' here: one serves digits, faces; two"),
        ("cats", None, "nothing serves a model 'cats' here: one serves digits, faces; two serves"),
    ],
)
def test_a_name_means_one_model_or_it_is_said_what_there_is(
    name: str, release: str | None, found: tuple[str, str] | str
) -> None:
    if isinstance(found, tuple):
        server, one = meant(known(*BOTH), name, release)
        assert (server.release, one.name) == found
        return
    with pytest.raises(RefusedError) as refused:
        meant(known(*BOTH), name, release)
    assert found in str(refused.value)


def test_without_any_server_it_says_so() -> None:
    with pytest.raises(RefusedError, match="there is no server at all: -n NS looks elsewhere"):
        meant([], "digits", None)


def service(kind: str, node_ports: bool = False, **balancer: Any) -> Object:
    ports: list[Object] = [{"name": "grpc", "port": 80}, {"name": "http", "port": 81}]
    if node_ports:
        ports = [{**one, "nodePort": 30000 + one["port"]} for one in ports]
    status = {"loadBalancer": {"ingress": [balancer]}} if balancer else {}
    return {"spec": {"type": kind, "ports": ports}, "status": status}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (service("ClusterIP"), "kubectl -n vision port-forward service/digits-serving 80 81"),
        (service("NodePort", node_ports=True), "each node's address, ports 30080 (gRPC) and 30081"),
        (service("LoadBalancer", ip="192.0.2.7"), "192.0.2.7, ports 80 (gRPC) and 81 (REST)"),
        (service("LoadBalancer", hostname="lb.example"), "lb.example, ports 80 (gRPC)"),
        (service("LoadBalancer"), "has no address yet: kubectl -n vision get service"),
    ],
)
def test_the_address_for_others_is_that_of_the_service(document: Object, words: str) -> None:
    (server,) = known(deployment())
    found = read_service(document)
    assert words in outside(server, found)
    host = host_of(server, found)
    assert (host.name, host.grpc, host.rest) == ("digits-serving.vision.svc", 80, 81)


def rolling(wanted: int | None, updated: int, ready: int, there: int, seen: int = 2) -> Object:
    return {
        "metadata": {"name": "s", "generation": 2},
        "spec": {} if wanted is None else {"replicas": wanted},
        "status": {
            "observedGeneration": seen,
            "updatedReplicas": updated,
            "readyReplicas": ready,
            "replicas": there,
        },
    }


@pytest.mark.parametrize(
    ("document", "is_through"),
    [
        (rolling(2, 2, 2, 2), True),
        (rolling(None, 1, 1, 1), True),
        (rolling(2, 2, 1, 2), False),
        (rolling(2, 1, 2, 3), False),
        (rolling(2, 2, 2, 3), False),
        (rolling(2, 2, 2, 2, seen=1), False),
        ({"metadata": {}, "spec": {}}, False),
    ],
)
def test_a_rollout_is_through_when_all_pods_are_new_and_ready(
    document: Object, is_through: bool
) -> None:
    assert rollout_of(document).is_through is is_through


def test_why_a_server_is_not_ready_is_its_pods() -> None:
    rollout = rollout_of(rolling(2, 1, 0, 1))
    loading = server_pod(pod("s-1", ready=False))
    waiting = pod("s-2", ready=False)
    waiting["status"]["containerStatuses"] = [
        {
            "name": "serving",
            "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        }
    ]
    crashing = server_pod(waiting)
    assert (crashing.restarts, crashing.is_ready) == (3, False)
    assert why_not_ready(None, []) == "its Deployment is not made"
    assert why_not_ready(rollout, [loading]) == "1 of 2 pods have been made"
    assert why_not_ready(rollout, [loading, loading]) == "s-1 loads its models"
    told = why_not_ready(rollout, [loading, crashing])
    assert told == "s-2 waits: serving: CrashLoopBackOff: back-off 40s"
    nowhere = pod("s-3", "", ready=False)
    nowhere["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no cpu"}
    ]
    assert server_pod(nowhere).waits == "Unschedulable: no cpu"


@pytest.mark.parametrize("says", [True, False])
def test_a_server_that_tries_to_load_a_version_again_and_again_is_given_its_own_words(
    says: bool, use: Any, server: ApiServer
) -> None:
    use(config(server.url))
    (one,) = known(deployment())
    failed = "E retrier.cc:37] Loading servable: {name: digits version: 4} failed: NOT_FOUND: it"
    log = f"{failed}\nI retrier.cc:33] Retrying of Loading servable\n" if says else "I begun\n"
    pods = "/api/v1/namespaces/vision/pods"
    found = pod("s-1", ready=False)
    server.by_path = {
        "/apis/apps/v1/namespaces/vision/deployments/digits-serving": (
            200,
            rolling(1, 1, 0, 1),
            {},
        ),
        pods: (200, {**EMPTY, "items": [found]}, {}),
        f"{pods}/{found['metadata']['name']}/log": (200, log.encode(), {}),
    }
    with pytest.raises(RefusedError) as refused:
        await_ready(connect(None, None), one, time.monotonic() - 1, lambda _: None)
    words = "release digits-serving is installed, but not ready: s-1 loads its models"
    assert str(refused.value) == (f"{words}: {failed}" if says else words)


def test_what_a_server_waits_for_is_told_once_though_it_comes_again(
    use: Any, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(config(server.url))
    (one,) = known(deployment())
    server.by_path = {
        "/apis/apps/v1/namespaces/vision/deployments/digits-serving": (
            200,
            rolling(1, 1, 0, 1),
            {},
        ),
        "/api/v1/namespaces/vision/pods": (200, {**EMPTY, "items": [pod("s-1", ready=False)]}, {}),
    }
    reasons = itertools.cycle(["ErrImagePull", "ImagePullBackOff"])
    monkeypatch.setattr(rollout, "why_not_ready", lambda *_: next(reasons))
    monkeypatch.setattr(rollout, "TELL_SECONDS", 0.0)
    monkeypatch.setattr(rollout, "LOOK_SECONDS", 0.01)
    told: list[str] = []
    with pytest.raises(RefusedError):
        await_ready(connect(None, None), one, time.monotonic() + 0.5, told.append)
    words = "release digits-serving: "
    assert told == [f"{words}ErrImagePull", f"{words}ImagePullBackOff"]
