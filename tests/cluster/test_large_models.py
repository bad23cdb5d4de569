"""A model larger than its chief and its evaluator: killed, resumed another way, and exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.conftest import REQUESTS, MakeValues
from tests.cluster.kubernetes import Object, Release
from tests.programs import RECOMMENDER, RECOMMENDER_INLINED
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

ENDLESS = 10_000_000
ROW_BYTES = 64 * 4

# Reads a checkpoint as any program would: full tensors.
LOOK = """
import json, sys, tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
shapes = reader.get_variable_to_shape_map()
print(json.dumps({"shapes": shapes, "step": int(reader.get_tensor("step"))}))
"""


@pytest.mark.parametrize(
    ("users", "limit"),
    [
        pytest.param(1_600_000, "900Mi", id="1.5-GiB"),
        pytest.param(3_500_000, "1Gi", id="3-GiB", marks=pytest.mark.full),
    ],
)
def test_a_state_larger_than_chief_and_evaluator_trains_resumes_and_is_exported(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
    request: pytest.FixtureRequest,
    users: int,
    limit: str,
) -> None:
    name = f"large-{request.node.callspec.id.lower().replace('.', '-')}"
    items = users // 4
    small = {"requests": REQUESTS["requests"], "limits": {"memory": limit}}

    def values(steps: int, ps: int, **method: Any) -> Any:
        client = "worker" if "replication" in method else "chief"
        return make_values(
            name,
            small=False,
            beside=(RECOMMENDER,),
            program=RECOMMENDER_INLINED,
            flags={"users": users, "items": items},
            resources={"worker": REQUESTS, "ps": REQUESTS, client: small, "evaluator": small},
            workers=1,
            ps=ps,
            train={
                "steps": steps,
                "batchSize": 64,
                "optimizer": {"name": "Adam", "learningRate": 0.01},
                "checkpoint": {"seconds": 20, "keep": 1},
            },
            log={"size": "20Gi"},
            evaluator={"exportBest": {"metric": "accuracy", "mode": "max"}},
            **method,
        )

    def checkpoint(beyond: int) -> int:
        found = int(release.progress()["checkpointStep"] or 0)
        return found if found > beyond else 0

    release = make_release(name)
    release.install(values(ENDLESS, 2))
    first = eventually("a checkpoint", lambda: checkpoint(0), 240)
    killed = release.client()["metadata"]
    release.namespace.kubectl(
        "delete", "pod", killed["name"], "--grace-period=0", "--force", "--wait=false"
    )
    went_on = eventually("the next checkpoint", lambda: checkpoint(first), 240)

    release.upgrade(values(went_on + 1500, 4, replication="between-graph"))
    release.await_job("worker", "Complete", 600)
    release.await_job("evaluator", "Complete", 240)

    pods = [
        pod for role in ("chief", "worker", "evaluator") for pod in release.objects("pod", role)
    ]
    assert "OOMKilled" not in json.dumps([_ends(pod) for pod in pods])
    progress = json.loads(read_log_volume(f"{name}-log", f"cat /log/{name}/1/progress.json"))
    assert (progress["status"], progress["final"]) == ("done", True)
    assert progress["step"] > went_on
    assert progress["metrics"]["accuracy"] > 0.9
    record = json.loads(read_log_volume(f"{name}-log", f"cat /log/{name}/1/evaluations.json"))
    assert record["evaluations"][-1]["step"] == progress["step"]
    assert len(record["evaluations"]) > 1
    last = f"/log/{name}/1/checkpoints/ckpt-{progress['step']}/variables"
    found = json.loads(read_log_volume(f"{name}-log", f"python3 -c '{LOOK}' {last} 2>/dev/null"))
    tables = {key: shape for key, shape in found["shapes"].items() if "embeddings" in key}
    assert sorted(shape[0] for shape in tables.values()) == [items] * 3 + [users] * 3
    for directory in (progress["export"], record["best"]["export"]):
        size = int(read_log_volume(f"{name}-log", f"du -sb {directory}").split()[0])
        assert size > (users + items) * ROW_BYTES


def _ends(pod: Object) -> list[Any]:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return [(one.get("state"), one.get("lastState")) for one in statuses]
