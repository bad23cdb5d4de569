"""Scripts of the user's own in pods: they end though their servers join for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.conftest import ROOT, SMALL, MakeValues
from tests.cluster.kubernetes import Release
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

SCRIPTS = ROOT / "values-examples" / "scripts"
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


@pytest.mark.parametrize(("script", "program", "method", "roles", "result"), CASES)
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
