"""The other combinations in pods: each trains the same program to its end and leaves no pod.

Its client's pod is deleted on the way, and the doctor has nothing to say before that and after the
end. That of in-graph async is in test_faults, and in operations/test_doctor_later for the doctor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.conftest import SMALL, MakeValues
from tests.cluster.kubernetes import INDEX, Release
from tests.cluster.operations.diagnosis import findings, seen
from tests.programs import PACED_INLINED
from tests.slices import sliced
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

# Without a chief nobody waits for an async worker whose pod is late: there are steps left for it.
MANY = {"steps": 5000}
COMPILED = {"precision": "mixed_bfloat16", "xla": True}
COMBINATIONS = [
    pytest.param({"update": "sync"}, {}, ("chief", "worker", "ps"), id="in-graph-sync"),
    pytest.param(
        {"replication": "between-graph"}, MANY, ("worker", "ps"), id="between-graph-async"
    ),
    pytest.param(
        {"replication": "between-graph", "update": "sync"},
        {},
        ("worker", "ps"),
        id="between-graph-sync",
    ),
    pytest.param({"strategy": "all-reduce"}, COMPILED, ("worker",), id="all-reduce"),
]


@pytest.mark.parametrize(("method", "train", "roles"), sliced(COMBINATIONS, 1))
def test_a_training_whose_client_is_deleted_completes_and_leaves_no_pod(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
    method: dict[str, Any],
    train: dict[str, Any],
    roles: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> None:
    name = request.node.callspec.id
    told = {"steps": 1200, "batchSize": 32, "checkpoint": {"seconds": 5}, **train}
    values = make_values(
        name,
        small=False,
        **PACED_INLINED,
        resources={role: SMALL[role] for role in roles},
        workers=2,
        train=told,
        **method,
    )
    release = make_release(name)
    release.install(values)
    eventually("the first steps", lambda: (release.progress()["step"] or 0) > 0, 120)
    assert findings(seen(release)) == []
    deleted = release.client()["metadata"]
    release.namespace.kubectl("delete", "pod", deleted["name"], "--wait=false")
    if "chief" in roles:
        release.await_job("chief", "Complete", 240)
    release.await_job("worker", "Complete", 240)
    (client,) = (
        pod["metadata"]["name"]
        for pod in release.objects("pod", "chief" if "chief" in roles else "worker")
        if pod["metadata"]["uid"] != deleted["uid"]
        and pod["metadata"]["labels"].get(INDEX, "0") == "0"
    )
    log = release.namespace.kubectl("logs", client)
    went_on = re.search(r"training from step (\d+)", log)
    assert went_on, log[-3000:]
    assert int(went_on[1]) > 0, "the steps before its pod was deleted were lost"

    progress = json.loads(read_log_volume(f"{name}-log", f"cat /log/{name}/1/progress.json"))
    assert (progress["status"], progress["final"]) == ("done", True)
    assert progress["step"] >= told["steps"]
    assert progress["metrics"]["accuracy"] >= 0.9
    assert all(progress["workers"][index] > 0 for index in ("0", "1"))
    on_ps = [device.startswith("/job:ps") for device in progress["placement"].values()]
    assert all(on_ps) if "ps" in roles else not any(on_ps)
    listing = read_log_volume(f"{name}-log", f"ls /log/{name}/1/export/1")
    assert "saved_model.pb" in listing
    eventually("the ps to be gone", lambda: not release.running("ps"), 90)
    assert not release.running("worker")
    assert not release.running("chief")
    assert findings(seen(release)) == []
