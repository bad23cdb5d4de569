"""Large trainings, and many, on kwok's nodes: objects, scheduling and the end. Nothing trains.

The control plane, Helm, the chart and cleanup are real. docs/scale.md has the figures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client
from lightkube.resources.core_v1 import Pod
from tf_cluster.cluster.mutex import NAME

from tests.cluster.control_plane import ControlPlane, control_plane
from tests.cluster.fake_nodes import EXIT, NO_IMAGE, client_of, end, fake_nodes, volumes
from tests.cluster.kwok_training import Training
from tests.cluster.operations.conftest import TOOL
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

MOST_REQUESTS = 24
"""What `submit` may ask for besides what its helm does, however many tasks there are, and besides
the renewals of its Lease: one each 10 s."""
WORKER_LIMIT, CHIEF_LIMIT = 20, 6  # the backoffLimit of their Jobs
# The Job controller counts its wait before the next pod from then: so no test has to wait, too.
LONG_AGO = "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def plane(etcd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_plane(tmp_path_factory.mktemp("scale")) as plane, fake_nodes(plane):
        yield plane


def full(*sizes: int) -> Any:
    return pytest.param(*sizes, marks=pytest.mark.full)


@pytest.mark.parametrize(("workers", "ps"), [(100, 25), full(1000, 250)])
def test_a_large_training_runs_ends_and_leaves_its_claims(
    workers: int, ps: int, plane: ControlPlane, tmp_path: Path
) -> None:
    there = plane.namespace(f"large-{workers}")
    volumes(there, "digits-data", "digits-log")
    training = Training(plane, there, "digits", workers, ps)
    training.install()
    training.await_running(60 + workers / 5)
    training.end("worker", 0)
    training.end("chief", 0)
    training.await_job("worker", "Complete", 30 + workers / 10)
    training.await_job("chief", "Complete", 30)

    said = training.clean_up(tmp_path)

    assert training.job("worker")["status"]["succeeded"] == workers
    client = client_of(plane)
    eventually("the ps to go", lambda: not training.pods(client, "ps"), 30 + ps / 5)
    training.await_job("cleanup", "Complete", 30)
    assert _made(plane, there.name) == training.tasks + 1, said
    training.uninstall()
    claims = {f"persistentvolumeclaim/digits-{name}" for name in ("data", "log")}
    eventually("claims alone", lambda: training.left() == claims, 30 + workers / 10)


@pytest.mark.parametrize("number", [10, full(200)])
def test_many_trainings_in_a_namespace_leave_each_other_alone(
    number: int, plane: ControlPlane, tmp_path: Path
) -> None:
    there = plane.namespace(f"many-{number}")
    volumes(there, "data", "log")
    there.apply({"apiVersion": "v1", "kind": "List", "items": [_claim("data"), _claim("log")]})
    trainings = [Training(plane, there, f"t{index}", 1, 1) for index in range(number)]
    shared = [f"--set=storage.{name}.existingClaim={name}" for name in ("data", "log")]
    with ThreadPoolExecutor(2) as several:
        list(several.map(lambda one: one.install(*shared), trainings))
    for one in trainings:
        one.await_running(60)
    ended, *others = trainings
    client = client_of(plane)
    before = _uids(client, others)

    ended.end("worker", 0)
    ended.end("chief", 0)
    ended.clean_up(tmp_path)
    ended.await_job("cleanup", "Complete", 30)
    ended.uninstall()

    eventually("nothing of it", lambda: not ended.left(), 30)
    assert _uids(client, others) == before
    assert len(before) == len(others) * (others[0].tasks + 1)
    assert _made(plane, there.name) == number * (ended.tasks + 1)


# The avalanche: the most pods that a training can make when every pod of it fails.


@pytest.mark.parametrize("workers", [full(1), 5, full(30)])
def test_exit_2_makes_one_pod_a_task(workers: int, plane: ControlPlane) -> None:
    training = _failing(plane, f"exit-2-{workers}", workers, EXIT, "2")

    training.await_job("worker", "Failed", 60)
    training.await_job("chief", "Failed", 60)

    assert _made(plane, training.there.name) == training.tasks + 1


@pytest.mark.parametrize("workers", [full(1), 5, full(30)])
def test_exit_1_makes_at_most_21_and_w_workers_and_7_chiefs(
    workers: int, plane: ControlPlane
) -> None:
    training = _failing(plane, f"exit-1-{workers}", workers, EXIT, "1")

    training.await_job("worker", "Failed", 120)
    training.await_job("chief", "Failed", 120)

    made = _made_by_job(plane, training)
    assert WORKER_LIMIT < made["worker"] <= WORKER_LIMIT + 1 + workers
    assert made["chief"] == CHIEF_LIMIT + 1


def test_the_most_workers_that_exit_1_can_make(plane: ControlPlane) -> None:
    """20 fail and are replaced, then one more ends the Job: one less than the bound."""
    workers = 30
    there = plane.namespace("worst")
    volumes(there, "digits-data", "digits-log")
    training = Training(plane, there, "digits", workers, 1)
    training.install()
    training.await_running(60)
    client = client_of(plane)

    end(client, _running(training, client)[:WORKER_LIMIT], 1, LONG_AGO)
    eventually("all to run again", lambda: len(_running(training, client)) == workers, 60)
    end(client, _running(training, client)[:1], 1, LONG_AGO)

    training.await_job("worker", "Failed", 60)
    assert _made_by_job(plane, training)["worker"] == WORKER_LIMIT + workers


def test_an_image_that_is_not_there_makes_one_pod_a_task(plane: ControlPlane) -> None:
    training = _failing(plane, "no-image", 5, NO_IMAGE, "y")

    def waiting() -> bool:
        reasons = "--output=jsonpath={..state.waiting.reason}"
        listed = training.there.kubectl("get", "pods", reasons)
        return listed.split().count("ImagePullBackOff") == training.tasks

    eventually("every task to wait for its image", waiting, 60)
    assert _made(plane, training.there.name) == training.tasks + 1


def _failing(plane: ControlPlane, name: str, workers: int, key: str, value: str) -> Training:
    """A training whose chief, workers and ps have the annotation; cleanup's pod just runs."""
    there = plane.namespace(name)
    volumes(there, "digits-data", "digits-log")
    training = Training(plane, there, "digits", workers, 2)
    path = key.replace(".", "\\.")
    roles = ("chief", "worker", "ps")
    training.install(*(f"--set-string={role}.podAnnotations.{path}={value}" for role in roles))
    return training


def _made(plane: ControlPlane, namespace: str) -> int:
    """How many pods were ever made there."""
    return sum(
        request.verb == "create" and request.resource == "pods" and request.code == 201
        for request in plane.requests(namespace)
    )


def _made_by_job(plane: ControlPlane, training: Training) -> Counter[str]:
    """How many pods were ever made for the chief and the workers: what was bound, by name."""
    names = {
        request.name
        for request in plane.requests(training.there.name)
        if request.verb == "create" and request.resource == "pods/binding" and request.code == 201
    }
    return Counter(name.split("-")[1] for name in names)


def _running(training: Training, client: Client) -> list[Pod]:
    pods = training.pods(client, "worker")
    return [pod for pod in pods if pod.status and pod.status.phase == "Running"]


def _uids(client: Client, trainings: list[Training]) -> set[str | None]:
    parts = ("chief", "worker", "ps", "cleanup")
    pods = [pod for one in trainings for part in parts for pod in one.pods(client, part)]
    return {pod.metadata.uid for pod in pods if pod.metadata}


@pytest.mark.parametrize(("workers", "ps"), [(40, 10), full(1000, 250)])
def test_submit_asks_little_beside_helm_and_counts_every_pod(
    workers: int, ps: int, plane: ControlPlane, tmp_path: Path
) -> None:
    there = plane.namespace(f"submitted-{workers}")
    volumes(there, "digits-data", "digits-log")
    training = Training(plane, there, "digits", workers, ps)
    file = tmp_path / "digits.yaml"
    shared = {"accessModes": ["ReadWriteMany"]}
    values = {
        "fullnameOverride": "digits",
        "image": {"repository": "registry.example/tf-cluster-trainer"},
        "program": {"module": "example.digits:Digits"},
        "worker": {"replicas": workers},
        "ps": {"replicas": ps},
        "storage": {"data": shared, "log": shared},
    }
    file.write_text(yaml.safe_dump(values))
    before = _asked_by_the_tool(plane)

    said = there.shell(f"{TOOL} submit {file} --namespace {there.name}", tmp_path)

    assert "STATUS: deployed" in said
    asked = _asked_by_the_tool(plane) - before
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{there.name}/leases/{NAME}"
    assert training.count_pods() == training.tasks + 1
    renewals = asked.pop(f"update {lease}", 0)
    # A look at what is made comes each 30 s at most, a renewal each 10 s.
    most = MOST_REQUESTS + renewals // 3
    assert 10 < asked.total() <= most and renewals < 20, (renewals, asked)
    training.uninstall()


def _asked_by_the_tool(plane: ControlPlane) -> Counter[str]:
    """The requests of our client so far; helm, kubectl and kwok name themselves in the log."""
    log = (plane.layout.logs / "audit.log").read_text().splitlines()
    events = (json.loads(line) for line in log if '"userAgent":"python-httpx2' in line)
    return Counter(f"{one['verb']} {one['requestURI']}" for one in events)


def _claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
