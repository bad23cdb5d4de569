"""Every combination loses each of its tasks: who starts again, and where the run ends.

Real processes. A case kills a task's child, as a crash does, or asks the whole task to end, as a
node that is drained does. Who has to start again is the table of docs/trainer.md.

On one machine nobody else starts a client that was asked to end: the run stops, saved, and the
same command goes on from there.
"""

from __future__ import annotations

import os
import signal

import pytest

from tests.generator.combinations import COMBINATIONS, params
from tests.generator.conftest import RunParams
from tests.generator.real_run import child_of, progress, supervisor_of
from tests.slices import sliced

STEPS = 1500
MINUTES = 240  # seconds: other suites may share the machine


CASES = [
    pytest.param(name, task, how, id=f"{name}-{task}-{how}")
    for name, combination in COMBINATIONS.items()
    for task in combination.tasks
    for how in ("killed", "drained")
]


@pytest.mark.parametrize(("name", "task", "how"), sliced(CASES, 3))
def test_a_lost_task_costs_no_result(run_params: RunParams, name: str, task: str, how: str) -> None:
    combination = COMBINATIONS[name]
    text = params(combination, "lossy", STEPS)
    run = run_params(text)
    run.wait_until(
        "a checkpoint", lambda: (progress(run, "lossy").get("checkpointStep") or 0) > 0, MINUTES
    )

    if how == "killed":
        os.kill(child_of(run, task, "lossy"), signal.SIGKILL)
    else:
        os.kill(supervisor_of(run, task, "lossy"), signal.SIGTERM)

    if (task, how) == (combination.client, "drained"):
        assert run.wait(MINUTES) == 143, run.stderr
        assert "asked to stop. The same command goes on from there" in run.stderr
        saved = progress(run, "lossy")
        assert (saved["status"], saved["step"]) == ("stopped", saved["checkpointStep"])
        assert run.processes() == []
        run = run_params(text)
    assert run.wait(MINUTES) == 0, run.stderr
    document = progress(run, "lossy")
    assert (document["status"], document["final"]) == ("done", True)
    if "async" in name:
        # At least once: a call of a lost worker is made again, workers may end side by side.
        assert STEPS <= document["step"] < STEPS + 600
    else:
        assert document["step"] == STEPS
    assert document["metrics"]["accuracy"] >= 0.95
    assert all(document["workers"][index] > 0 for index in ("0", "1"))
    if task != combination.client:
        ended = task in combination.ends_the_client
        assert (document["restarts"] > 0) == ended, run.stderr
    assert run.processes() == []
