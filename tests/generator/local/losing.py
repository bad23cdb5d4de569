"""A combination loses some of its tasks in one moment: who starts again, where the run ends.

Real processes. A task's child is killed, as in a crash, or the whole task is asked to end, as on a
node that is drained. Who has to start again is the table of docs/trainer.md.

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

from tests.generator.conftest import RunParams
from tests.generator.local.combinations import COMBINATIONS, last_steps, params
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import calls_retried, child_of, progress, supervisor_of
from tests.programs import PACED, PACED_MODULE

# At the pace of the data: some 10 s of an async training, and some 15 s of the others.
STEPS = 1000
STEPS_OF_ASYNC = 1500
PER_CALL = 8  # no divisor of the total: the last call has to be a shorter one
SLOWLY = f"{{path: '{PACED.parent}', module: '{PACED_MODULE}'}}"


LOSSES = [
    pytest.param(name, tasks, id=f"{name}-{'+'.join(tasks)}")
    for name, combination in COMBINATIONS.items()
    for tasks in dict.fromkeys(
        [*((task,) for task in combination.tasks), combination.others, combination.tasks]
    )
]


def loses(run_params: RunParams, name: str, tasks: tuple[str, ...], *, drained: bool) -> None:
    """Train, lose these tasks once steps of both workers are saved, and look what becomes."""
    combination = COMBINATIONS[name]
    steps = STEPS_OF_ASYNC if "async" in name else STEPS
    # Where calls can be made again, how long they are says how far the run may go.
    calls = PER_CALL if "async" in name else None
    text = params(combination, "lossy", steps, SLOWLY, per_call=calls)
    run = run_params(text)
    run.wait_until("steps of both workers", lambda: _made_by_both(run))
    both = progress(run, "lossy")["step"]
    # A ps that is lost costs what is not saved; nobody waits for an async worker that comes late.
    run.wait_until(
        "a checkpoint of them",
        lambda: (progress(run, "lossy").get("checkpointStep") or 0) >= both,
    )

    if drained:
        _signal([supervisor_of(run, task, "lossy") for task in tasks], signal.SIGTERM)
    else:
        _signal([child_of(run, task, "lossy") for task in tasks], signal.SIGKILL)

    if drained and combination.client in tasks:
        assert run.wait() == 143, run.stderr
        assert "asked to stop. The same command goes on from there" in run.stderr
        stopped = progress(run, "lossy")
        assert stopped["status"] == "stopped"
        if "ps-0" not in tasks:  # which a pod's preStop keeps until the client has saved
            assert stopped["step"] == stopped["checkpointStep"]
        assert run.processes() == []
        run = run_params(text)
    assert run.wait() == 0, run.stderr
    document = progress(run, "lossy")
    assert (document["status"], document["final"]) == ("done", True)
    retried = calls_retried(run, "lossy")
    assert document["step"] in last_steps(name, steps, per_call=PER_CALL, retried=retried)
    assert retried <= tasks.count("worker-1")
    assert document["metrics"]["accuracy"] >= 0.95
    assert all(document["workers"][index] > 0 for index in ("0", "1"))
    if combination.client not in tasks:
        ended = any(task in combination.ends_the_client for task in tasks)
        assert (document["restarts"] > 0) == ended, run.stderr
    told = _steps_in_tensorboard(run.folder / "runs/lossy/1/events")
    assert told == sorted(set(told)), "a step was told twice"
    assert told[-1] == document["step"]
    assert run.processes() == []


def _made_by_both(run: LocalRunInTest) -> bool:
    made = progress(run, "lossy").get("workers") or {}
    return all(made.get(index) for index in ("0", "1"))


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        os.kill(process, number)


def _steps_in_tensorboard(events: Path) -> list[int]:
    """Of the points of the loss that TensorBoard shows, over all starts of the run."""
    shown = EventAccumulator(str(events), size_guidance={TENSORS: 0}).Reload()
    return [point.step for point in shown.Tensors("loss")]
