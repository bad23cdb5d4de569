"""A more important pod takes a task's place: the training waits for it, goes on, and ends right."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from decimal import Decimal

import pytest

from tests.cluster import turns
from tests.cluster.alone.conftest import Train
from tests.cluster.alone.training import Training
from tests.cluster.conftest import sleeping_pod
from tests.cluster.kubernetes import Namespace, Object, Release
from tests.cluster.operations.diagnosis import diagnosed
from tests.cluster.test_life_cycle import resumed_at
from tests.programs import ENDLESS
from tests.slices import in_turn, sliced
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.story,  # the end is that of a training that was preempted
    pytest.mark.timeout(900),
    in_turn(turns.PREEMPTION, of=turns.OF),
]

ROLES = ("chief", "worker", "ps")
TASKS = 4  # two of them are workers
FIRST, LAST = "tf-cluster-test-first", "tf-cluster-test-last"
IMPORTANCE = {FIRST: 1000, LAST: -10}
INTRUDER = "intruder"
TAKEN = "a more important pod took its place"


@pytest.fixture(scope="module", autouse=True)
def classes(namespace: Namespace) -> Iterator[None]:
    """The victim's priority is the last, the intruder's the first; the other tasks have none."""
    for name, value in IMPORTANCE.items():
        namespace.apply(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )
    yield
    namespace.kubectl("delete", "priorityclass", *IMPORTANCE)


@pytest.fixture(scope="module")
def training(train: Train) -> Training:
    return train("in-graph-async", {}, ROLES)


@pytest.mark.parametrize("role", sliced(ROLES, 1))
def test_a_task_that_is_preempted_comes_back_and_counts_no_failure(
    training: Training, namespace: Namespace, role: str
) -> None:
    release = training.release
    release.upgrade(training.write_values(ENDLESS), f"{role}.priorityClassName={LAST}")
    eventually("the attempt's tasks", lambda: _all_in_place(training, role), 120)
    training.goes_on()
    tasks = training.pods()
    step = training.step()
    namespace.apply(_intruder(_free_cpu(namespace) + Decimal("0.01")))
    if role == "chief":  # it saves before it ends: it is there for a look
        found = eventually(
            "TFD117", lambda: diagnosed(release, "TFD117", words=TAKEN), 60, every=0.2
        )
        assert "-chief-" in found.about
    victim = eventually("a preempted pod", lambda: _preempted(release, tasks), 60)
    eventually("the intruder to run", lambda: _runs(namespace), 120)
    namespace.kubectl("delete", "pod", INTRUDER, "--grace-period=0", "--force")
    eventually("all tasks", lambda: _all_in_place(training, role), 180)
    training.goes_on(180)
    if role == "chief":
        assert resumed_at(release) >= step > 0, "it did not save all of its steps"
    assert training.step() > step
    assert role in victim["involvedObject"]["name"]
    assert victim["involvedObject"]["uid"] not in training.pods()
    assert not _failures(release), release.story()


def test_after_that_it_ends_at_the_right_step(training: Training) -> None:
    training.ends_at_the_right_step()


def _all_in_place(training: Training, role: str) -> bool:
    """Whether every task has its pod, of the attempt in which the role matters least."""
    pods = training.release.running(role)
    marked = bool(pods) and all(pod["spec"]["priorityClassName"] == LAST for pod in pods)
    return marked and len(training.pods()) == TASKS


def _failures(release: Release) -> dict[str, int]:
    """How many pods its Jobs have counted as failed, of those that have counted any."""
    counted = {
        job["metadata"]["name"]: int(job["status"].get("failed", 0))
        for job in release.objects("job")
    }
    return {name: count for name, count in counted.items() if count}


def _preempted(release: Release, tasks: Collection[str]) -> Object | None:
    """The event of a task that went, of those with these UIDs; its pod may be deleted by then."""
    selector = "--field-selector=reason=Preempted"
    found = json.loads(release.namespace.kubectl("get", "events", selector, "--output=json"))
    went = [event for event in found["items"] if event["involvedObject"]["uid"] in tasks]
    return dict(went[0]) if went else None


def _runs(namespace: Namespace) -> bool:
    phase = namespace.kubectl("get", "pod", INTRUDER, "--output=jsonpath={.status.phase}")
    return phase == "Running"


def _free_cpu(namespace: Namespace) -> Decimal:
    """CPUs of the node that no pod has asked for."""
    nodes = json.loads(namespace.kubectl("get", "nodes", "--output=json"))["items"]
    pods = json.loads(namespace.kubectl("get", "pods", "--all-namespaces", "--output=json"))
    asked = [
        _cpus(container.get("resources", {}).get("requests", {}).get("cpu", "0"))
        for pod in pods["items"]
        if pod["status"].get("phase") not in ("Succeeded", "Failed")
        for container in pod["spec"]["containers"]
    ]
    return _cpus(nodes[0]["status"]["allocatable"]["cpu"]) - sum(asked)


def _cpus(quantity: str) -> Decimal:
    return Decimal(quantity[:-1]) / 1000 if quantity.endswith("m") else Decimal(quantity)


def _intruder(cpus: Decimal) -> Object:
    requests = {"cpu": f"{int(cpus * 1000)}m"}
    container = {"resources": {"requests": requests}}
    return sleeping_pod(INTRUDER, container, priorityClassName=FIRST)
