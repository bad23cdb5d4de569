"""A training whose node and control plane lose their parts goes on, and ends at the right step.

The kubelet is the one of the machine's only node: it is stopped and started again.
"""

from __future__ import annotations

import re
import time

import pytest

from tests.cluster import turns
from tests.cluster.alone.conftest import Train
from tests.cluster.alone.faults import Machine, full
from tests.cluster.alone.training import Training
from tests.cluster.kubernetes import Object, Release
from tests.cluster.operations.diagnosis import diagnosed
from tests.cluster.test_life_cycle import resumed_at
from tests.slices import in_turn, sliced
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1500),
    in_turn(turns.NODE_FAULTS, of=turns.OF),
]

BETWEEN = {"replication": "between-graph"}
COMBINATIONS = [
    pytest.param((name, method, roles), id=name)
    for name, method, roles in (
        ("in-graph-async", {}, ("chief", "worker", "ps")),
        ("in-graph-sync", {"update": "sync"}, ("chief", "worker", "ps")),
        ("between-graph-async", BETWEEN, ("worker", "ps")),
        ("between-graph-sync", {**BETWEEN, "update": "sync"}, ("worker", "ps")),
        ("all-reduce", {"strategy": "all-reduce"}, ("worker",)),
    )
]


@pytest.fixture(scope="module", params=sliced(COMBINATIONS, 1))
def training(request: pytest.FixtureRequest, train: Train) -> Training:
    return train(*request.param)


@pytest.mark.parametrize(
    "program", ["kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"]
)
def test_a_control_plane_that_loses_a_part_for_a_while_touches_no_task(
    training: Training, machine: Machine, program: str
) -> None:
    with training.untouched(), machine.without(program):
        training.goes_on_for(30)


def test_a_minute_without_names_touches_no_task(training: Training, machine: Machine) -> None:
    with training.untouched(), machine.without_names():
        training.goes_on_for(60)


@pytest.mark.parametrize(
    "seconds", [pytest.param(0, id="until-it-is-missed"), pytest.param(300, marks=pytest.mark.full)]
)
def test_a_kubelet_that_is_stopped_touches_no_task(
    training: Training, machine: Machine, seconds: float
) -> None:
    began = time.monotonic()
    # An address that is not ready is published: the tasks find each other all the time.
    with training.untouched(), machine.without("kubelet"):
        eventually("the node to be missed", lambda: not machine.node_is_ready(), 60)
        found = eventually("a word on the node", lambda: diagnosed(training.release, "TFD119"), 60)
        assert found.about.startswith("node/")
        training.goes_on_for(seconds - (time.monotonic() - began))


def test_a_drained_node_gives_the_training_back(training: Training, machine: Machine) -> None:
    pods = training.pods()
    with machine.drained_of(training.release.name):
        step = training.step()
    eventually("all tasks", lambda: len(training.pods()) == len(pods), 120)
    training.goes_on()
    assert not set(training.pods()) & set(pods)
    assert resumed_at(training.release) >= step > 0, "it did not save all of its steps"


def test_a_pod_that_is_evicted_for_memory_is_replaced(training: Training, machine: Machine) -> None:
    count = len(training.pods())
    with machine.short_of_memory():
        evicted = eventually("an evicted pod", lambda: _evicted(training.release), 120)
    assert "memory" in evicted["status"]["message"]
    eventually("all tasks", lambda: len(training.pods()) == count, 180)
    training.goes_on(180)


def _evicted(release: Release) -> Object | None:
    pods = release.objects("pod")
    return next((pod for pod in pods if pod["status"].get("reason") == "Evicted"), None)


def test_a_full_volume_is_told_and_the_next_checkpoint_comes_when_there_is_room(
    training: Training,
) -> None:
    with training.untouched():
        with full(training.volume):
            eventually("words on the full volume", lambda: _tells(training.release), 60)
            found = eventually("a finding", lambda: diagnosed(training.release, "TFD121"), 60)
            assert "the disk is full" in found.words
            saved = training.saved()
        eventually("the next checkpoint", lambda: training.saved() > saved, 60)


def _tells(release: Release) -> bool:
    """Whether the client's log says why it does not save."""
    log = release.namespace.kubectl("logs", release.client()["metadata"]["name"])
    return re.search(r"can't be written: .*No space left on device", log) is not None


def test_after_all_this_it_ends_at_the_right_step(training: Training) -> None:
    training.ends_at_the_right_step()
