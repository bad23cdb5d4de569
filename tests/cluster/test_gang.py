"""A gang of the real coscheduling scheduler trains on the real node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster import turns
from tests.cluster.conftest import MakeValues
from tests.cluster.coscheduling import coscheduling, gang
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace, Release
from tests.slices import in_turn

pytestmark = [pytest.mark.cluster, in_turn(turns.GANGS, of=2)]


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
