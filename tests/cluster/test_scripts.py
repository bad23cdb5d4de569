"""Scripts of the user's own in pods: they end though their servers join for ever."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import ROOT, SMALL, MakeValues
from tests.cluster.kubernetes import Namespace, Release, condition
from tests.slices import in_turn, sliced
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

SCRIPTS = ROOT / "values-examples" / "scripts"
# Worker 0 ends when it is told to; the others never do.
ONE_ENDS = """
import os, pathlib, time
told = pathlib.Path(os.environ["LOG_DIR"], "end")
while os.environ["TASK_INDEX"] != "0" or not told.exists():
    time.sleep(0.5)
"""
FLAGS = [
    "--ps_hosts=$(PS_HOSTS)",
    "--worker_hosts=$(WORKER_HOSTS)",
    "--job_name=$(JOB_NAME)",
    "--task_index=$(TASK_INDEX)",
    "--log_dir=$(LOG_DIR)",
    "--steps=300",
]
CASES = [
    # TF_CONFIG, a chief, workers that block in server.join(); the ps are the trainer's servers
    pytest.param(
        "parameter_server.py",
        {"args": ["--steps=500"]},
        {},
        ("chief", "worker", "ps"),
        "weights.txt",
        id="script-in-graph",
    ),
    # host lists as flags, ps that run the script and block in server.join()
    pytest.param(
        "replicas_1x.py",
        {"args": FLAGS, "ps": "script"},
        {"replication": "between-graph"},
        ("worker", "ps"),
        "checkpoint",
        id="script-1x",
    ),
]


@pytest.mark.parametrize(("script", "program", "method", "roles", "result"), sliced(CASES, 1))
def test_a_script_whose_servers_join_completes_and_leaves_no_pod(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
    script: str,
    program: dict[str, Any],
    method: dict[str, Any],
    roles: tuple[str, ...],
    result: str,
    request: pytest.FixtureRequest,
) -> None:
    name = request.node.callspec.id
    values = make_values(
        name,
        small=False,
        beside=(SCRIPTS / script,),
        resources={role: SMALL[role] for role in roles},
        workers=2,
        program={"source": {"files": [script]}, "script": script, **program},
        **method,
    )
    release = make_release(name)
    release.install(values)
    for role in roles:
        if role != "ps":
            release.await_job(role, "Complete", 180)

    progress = json.loads(read_log_volume(f"{name}-log", f"cat /log/{name}/1/progress.json"))
    assert (progress["status"], progress["final"], progress["exitCode"]) == ("done", True, 0)
    assert (progress["step"], progress["total"]) == (None, None)
    assert result in read_log_volume(f"{name}-log", f"ls /log/{name}/1")
    eventually("the ps to be gone", lambda: not release.running("ps"), 90)
    assert not release.running("worker")
    assert not release.running("chief")


@pytest.fixture
def node_label(namespace: Namespace) -> Iterator[str]:
    """A label that all nodes have."""
    name = f"{namespace.name}-workers"
    namespace.kubectl("label", "nodes", "--all", f"{name}=yes")
    yield name
    namespace.kubectl("label", "nodes", "--all", f"{name}-")


@in_turn(0, of=2)
def test_worker_0_completes_the_job_while_another_worker_has_lost_its_node(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    node_label: str,
    namespace: Namespace,
    tmp_path: Path,
) -> None:
    script = tmp_path / "one_ends.py"
    script.write_text(ONE_ENDS)
    values = make_values(
        "first",
        small=False,
        beside=(script,),
        resources={role: SMALL[role] for role in ("worker", "ps")},
        workers=2,
        replication="between-graph",
        program={"source": {"files": [script.name]}, "script": script.name},
        extraValues={
            "worker": {"successPolicy": "first", "nodeSelector": {node_label: "yes"}},
            "cleanup": {"delaySeconds": {"success": 0}},
        },
    )
    release = make_release("first")
    release.install(values)
    eventually("a script that runs", lambda: release.progress()["status"] == "running", 120)
    client = release.client()["metadata"]["name"]

    namespace.kubectl("label", "nodes", "--all", f"{node_label}-")
    lost = eventually("worker 1", lambda: release.worker(1), 60)["metadata"]
    namespace.kubectl("delete", "pod", lost["name"], "--grace-period=1")

    def waits() -> bool:
        phases = [pod["status"]["phase"] for pod in release.objects("pod", "worker")]
        return sorted(phases) == ["Pending", "Running"]

    eventually("its replacement without a node", waits, 60)
    namespace.kubectl("exec", client, "--", "touch", "/log/first/1/end")

    job = release.await_job("worker", "Complete", 120)
    met = condition(job, "SuccessCriteriaMet")
    assert met and met["reason"] == "SuccessPolicy"
    assert job["status"]["completedIndexes"] == "0"
    release.await_job("cleanup", "Complete", 120)
    eventually("the ps to be gone", lambda: not release.running("ps"), 90)
    left = [pod["status"]["phase"] for pod in release.objects("pod", "worker")]
    assert left == ["Succeeded"], "the worker that waited for a node waits no more"
