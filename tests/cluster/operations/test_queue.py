"""Trainings in a queue of the real Kueue, on the real node: admitted, held, and taken out again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster import turns
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import CommandError, Namespace, Release
from tests.cluster.kueue import kueue, queue
from tests.cluster.operations.conftest import Tool
from tests.cluster.operations.diagnosis import diagnosed
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually
from tools.machine.layout import default_layout

pytestmark = [pytest.mark.cluster, in_turn(turns.QUEUE, of=turns.OF)]

LABEL = "kueue.x-k8s.io/queue-name"
QUEUED = {"queue": "research"}


@pytest.fixture(scope="module", autouse=True)
def research(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A queue with room for one training: a chief and two workers."""
    if namespace.kubeconfig != str(default_layout().kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, whose API server does not reach this Kueue")
    with kueue(namespace, tmp_path_factory.mktemp("kueue")):
        queue(namespace, "research", cpu="70m", memory="1Gi")
        yield


@pytest.fixture(scope="module")
def first(make_release: Callable[[str], Release], make_values: MakeValues, tool: Tool) -> Release:
    release = make_release("admitted")
    endless = {"scheduling": QUEUED, "train": {"steps": ENDLESS}}
    release.install(make_values("admitted", **SLOWLY, **endless))
    eventually("steps", lambda: tool.document("get", "admitted")["step"], 180)
    return release


@pytest.fixture(scope="module")
def second(
    first: Release, make_release: Callable[[str], Release], make_values: MakeValues
) -> Release:
    release = make_release("queued")
    release.install(make_values("queued", scheduling=QUEUED, train={"steps": 100}))
    return release


def jobs(release: Release) -> list[dict[str, Any]]:
    return [one for one in release.objects("job") if LABEL in one["metadata"]["labels"]]


def test_a_training_that_its_queue_admits_trains(first: Release) -> None:
    assert {one["metadata"]["labels"]["app.kubernetes.io/component"] for one in jobs(first)} == {
        "chief",
        "worker",
    }
    assert not any(one["spec"].get("suspend") for one in jobs(first))
    workloads = json.loads(first.namespace.kubectl("get", "workloads", "--output=json"))["items"]
    assert {one["spec"]["queueName"] for one in workloads} == {"research"}


def test_one_that_has_to_wait_is_suspended_and_said_to_be(second: Release, tool: Tool) -> None:
    eventually("it to be held", lambda: tool.document("get", "queued")["status"] == "suspended", 60)
    assert all(one["spec"]["suspend"] for one in jobs(second))
    assert not second.running("chief") and not second.running("worker")
    finding = eventually("TFD125", lambda: diagnosed(second, "TFD125", words="queue"), 60)
    assert "'s Job is suspended: its queue has not admitted it yet" in finding.words
    refused = tool.ran("stop", "queued", code=2).stderr
    assert "tf-cluster delete" in refused


def test_another_queue_is_refused_for_a_job_that_is_admitted(
    first: Release, make_values: MakeValues
) -> None:
    other = make_values(
        "admitted", **SLOWLY, scheduling={"queue": "other"}, train={"steps": ENDLESS}
    )
    with pytest.raises(CommandError, match="immutable"):
        first.upgrade(other)
    assert first.running("chief")


def test_it_trains_when_the_one_before_is_gone(first: Release, second: Release, tool: Tool) -> None:
    tool("delete", "admitted")
    second.await_job("chief", "Complete", 240)
    assert tool.document("get", "queued")["status"] == "done"
