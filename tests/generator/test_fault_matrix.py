"""Every combination loses each of its tasks, and several: who starts again, where the run ends.

Real processes. A case kills a task's child, as a crash does, or asks the whole task to end, as a
node that is drained does; of several in one moment. Who has to start again is the table of
docs/trainer.md.

On one machine nobody else starts a client that was asked to end: the run stops, saved, and the
same command goes on from there.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import (
    TENSORS,
    EventAccumulator,
)

from tests.generator.combinations import COMBINATIONS, params
from tests.generator.conftest import RunParams
from tests.generator.real_run import child_of, progress, supervisor_of
from tests.slices import sliced

STEPS = 1500
MINUTES = 240  # seconds: other suites may share the machine


CASES = [
    pytest.param(name, tasks, how, id=f"{name}-{'+'.join(tasks)}-{how}")
    for name, combination in COMBINATIONS.items()
    for tasks in dict.fromkeys(
        [*((task,) for task in combination.tasks), combination.others, combination.tasks]
    )
    for how in ("killed", "drained")
]


@pytest.mark.parametrize(("name", "tasks", "how"), sliced(CASES, 3))
def test_lost_tasks_cost_no_result(
    run_params: RunParams, name: str, tasks: tuple[str, ...], how: str
) -> None:
    combination = COMBINATIONS[name]
    text = params(combination, "lossy", STEPS)
    run = run_params(text)
    run.wait_until(
        "a checkpoint", lambda: (progress(run, "lossy").get("checkpointStep") or 0) > 0, MINUTES
    )

    if how == "killed":
        lose([child_of(run, task, "lossy") for task in tasks], signal.SIGKILL)
    else:
        lose([supervisor_of(run, task, "lossy") for task in tasks], signal.SIGTERM)

    if how == "drained" and combination.client in tasks:
        assert run.wait(MINUTES) == 143, run.stderr
        assert "asked to stop. The same command goes on from there" in run.stderr
        stopped = progress(run, "lossy")
        assert stopped["status"] == "stopped"
        if "ps-0" not in tasks:  # which a pod's preStop keeps until the client has saved
            assert stopped["step"] == stopped["checkpointStep"]
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
    if combination.client not in tasks:
        ended = any(task in combination.ends_the_client for task in tasks)
        assert (document["restarts"] > 0) == ended, run.stderr
    told = steps_in_tensorboard(run.folder / "runs/lossy/1/events")
    assert told == sorted(set(told)), "a step was told twice"
    assert told[-1] == document["step"]
    assert run.processes() == []


def lose(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        os.kill(process, number)


def steps_in_tensorboard(events: Path) -> list[int]:
    """Of the points of the loss that TensorBoard shows, over all starts of the run."""
    shown = EventAccumulator(str(events), size_guidance={TENSORS: 0}).Reload()
    return [point.step for point in shown.Tensors("loss")]
