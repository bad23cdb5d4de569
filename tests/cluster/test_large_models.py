"""A model larger than its chief and its evaluator: killed, resumed another way, and exported."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster import turns
from tests.cluster.conftest import REQUESTS, MakeValues
from tests.cluster.kubernetes import Namespace, Object, Release
from tests.programs import ENDLESS, RECOMMENDER, RECOMMENDER_INLINED
from tests.slices import in_turn
from tests.support.waiting import eventually
from tools.machine.layout import Addresses, default_layout
from tools.machine.volume import StaticVolume, create

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

FULL = pytest.mark.full
TURNS = tuple(in_turn(turns.LARGE_STATE + 2 * way, of=turns.OF) for way in (0, 1))
BY_PS = "the ps write and read the large tensors of checkpoints themselves"
ROW_BYTES = 64 * 4

# Reads a checkpoint as any program would: full tensors.
LOOK = """
import json, sys, tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
shapes = reader.get_variable_to_shape_map()
print(json.dumps({"shapes": shapes, "step": int(reader.get_tensor("step"))}))
"""


@pytest.fixture
def volume(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[dict[str, Any]]:
    """What params say of /log: a claim of one node, or one that the ps mount too."""
    if request.param == "ReadWriteOnce":
        yield {"log": {"size": "20Gi"}}
        return
    layout = default_layout()
    if namespace.kubeconfig != str(layout.kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, whose node has no directory of ours")
    name = f"{namespace.name}-{uuid.uuid4().hex[:4]}"
    directory = create(StaticVolume(name, size="20Gi"), layout, Addresses())
    yield {
        "log": {"size": "20Gi", "volume": name, "class": "", "accessModes": ["ReadWriteMany"]},
        "extraValues": {"storage": {"data": {"enabled": False}}},
    }
    namespace.kubectl("delete", "pv", name, "--wait=false")
    shutil.rmtree(directory)  # some GiB


@pytest.mark.parametrize(
    ("users", "limit", "volume"),
    [
        pytest.param(users, limit, mode, id=f"{size}-{mode[9:].lower()}", marks=mark)
        for users, limit, size, marks in (
            (1_600_000, "900Mi", "1.5-GiB", TURNS),
            (3_500_000, "1Gi", "3-GiB", (FULL, FULL)),
        )
        for mode, mark in zip(("ReadWriteMany", "ReadWriteOnce"), marks, strict=True)
    ],
    indirect=["volume"],
)
def test_a_state_larger_than_chief_and_evaluator_trains_resumes_and_is_exported(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
    request: pytest.FixtureRequest,
    users: int,
    limit: str,
    volume: dict[str, Any],
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
            evaluator={"exportBest": {"metric": "accuracy", "mode": "max"}},
            **volume,
            **method,
        )

    def checkpoint(beyond: int) -> int:
        found = int(release.progress()["checkpointStep"] or 0)
        return found if found > beyond else 0

    release = make_release(name)
    release.install(values(ENDLESS, 2))
    first = eventually("a checkpoint", lambda: checkpoint(0), 240)
    said = BY_PS if "extraValues" in volume else "ps-0 does not reach the log volume"
    client = release.client()["metadata"]["name"]
    assert said in release.namespace.kubectl("logs", client)
    release.namespace.kubectl(
        "delete", "pod", client, "--grace-period=0", "--force", "--wait=false"
    )
    went_on = eventually("the next checkpoint", lambda: checkpoint(first), 240)
    words = release.namespace.kubectl("logs", release.client()["metadata"]["name"])
    assert said in words
    assert resumed_step(words) >= first

    release.upgrade(values(went_on + 1500, 4, replication="between-graph"))
    release.await_job("worker", "Complete", 600)
    release.await_job("evaluator", "Complete", 240)

    (worker,) = release.objects("pod", "worker")
    words = release.namespace.kubectl("logs", worker["metadata"]["name"])
    assert said in words
    assert resumed_step(words) >= went_on

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


def resumed_step(words: str) -> int:
    """The step of the checkpoint that a client went on from, by its log."""
    found = re.search(r"going on from the checkpoint of step (\d+)", words)
    assert found, words
    return int(found[1])


def test_a_state_that_no_ps_can_hold_is_exit_2_with_the_numbers(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("too-large")
    release.install(
        make_values(
            "too-large",
            small=False,
            beside=(RECOMMENDER,),
            program=RECOMMENDER_INLINED,
            flags={"users": 1_600_000, "items": 400_000},
            resources={
                "chief": REQUESTS,
                "worker": REQUESTS,
                "ps": {"requests": REQUESTS["requests"], "limits": {"memory": "600Mi"}},
            },
            workers=1,
            ps=2,
            train={"steps": 100, "optimizer": {"name": "Adam", "learningRate": 0.01}},
        )
    )
    job = release.await_job("chief", "Failed", 240)
    assert job["status"]["failed"] == 1  # nothing was tried again
    said = release.namespace.kubectl("logs", release.one("pod", "chief")["metadata"]["name"])
    assert "MiB does not fit 2 ps: one of them needs at least" in said
    assert "and none may have more than 600 MiB; give them more memory" in said
    assert "OOMKilled" not in json.dumps([_ends(pod) for pod in release.objects("pod", "ps")])


def _ends(pod: Object) -> list[Any]:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return [(one.get("state"), one.get("lastState")) for one in statuses]
