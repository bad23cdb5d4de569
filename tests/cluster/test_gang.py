"""A gang of the real coscheduling scheduler trains on the real node."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tf_cluster.cluster.reading import amount

from tests.cluster import turns
from tests.cluster.conftest import MakeValues
from tests.cluster.coscheduling import coscheduling, gang
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.operations.diagnosis import diagnosed
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.GANGS, of=turns.OF)]


def test_a_gang_trains_to_its_end(
    namespace: Namespace,
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if "PodGroup" in absent_kinds(namespace):
        pytest.skip("this cluster has no PodGroup")
    with coscheduling(namespace, tmp_path_factory.mktemp("coscheduling")) as scheduler:
        values = make_values("together", train={"steps": 200}, scheduling=gang(scheduler))
        release = make_release("together")
        release.install(values)
        release.await_job("chief", "Complete", 120)
    pods = release.objects("pod")
    tasks = [pod for pod in pods if pod["spec"].get("subdomain")]
    assert {pod["spec"]["schedulerName"] for pod in tasks} == {scheduler}
    assert release.objects("podgroups.scheduling.x-k8s.io")


def test_a_gang_that_has_no_room_is_told_with_what_it_lacks(
    namespace: Namespace,
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """No pod of it is placed, though the node has room for some of them."""
    if "PodGroup" in absent_kinds(namespace):
        pytest.skip("this cluster has no PodGroup")
    node = json.loads(namespace.kubectl("get", "nodes", "--output=json"))["items"][0]
    half = f"{amount(node['status']['allocatable']['cpu']) / 2:g}"
    asked = {"worker": {"requests": {"cpu": half, "memory": "64Mi"}}}
    with coscheduling(namespace, tmp_path_factory.mktemp("coscheduling")) as scheduler:
        values = make_values("gang", workers=3, scheduling=gang(scheduler), resources=asked)
        release = make_release("gang")
        release.install(values)
        found = eventually("TFD125", lambda: diagnosed(release, "TFD125", words="cpu"), 60)
        tasks = [pod for pod in release.objects("pod") if pod["spec"].get("subdomain")]
    assert "waits until there is room for its whole gang: not enough cpu now" in found.words
    assert len(tasks) == 5 and not any(pod["spec"].get("nodeName") for pod in tasks)
    release.uninstall()
