"""Looking into a `tf-cluster run` with the real trainer: its processes and its progress.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.generator.local.combinations import RETRIED
from tests.generator.local.local_run import LocalRunInTest


def progress(run: LocalRunInTest, name: str = "digits") -> dict[str, Any]:
    """What progress.json says; empty before there is one."""
    try:
        document = json.loads((run.folder / f"runs/{name}/1/progress.json").read_text())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def ended_well(run: LocalRunInTest, name: str) -> None:
    """Its final status is `done`, and no process of it is left."""
    document = progress(run, name)
    assert (document["status"], document["final"], document["exitCode"]) == ("done", True, 0)
    assert run.processes() == []


def calls_retried(run: LocalRunInTest, name: str = "digits") -> int:
    """How many calls of lost workers a chief gave to others, over all its starts."""
    logs = run.folder.glob(f"runs/{name}/logs/chief-0.log")
    return sum(log.read_text().count(RETRIED) for log in logs)


def supervisor_of(run: LocalRunInTest, task: str, name: str = "digits") -> int:
    """The process number of a task's `tf-trainer`."""
    return _process(run, task, name, run.process.pid)


def child_of(run: LocalRunInTest, task: str, name: str = "digits") -> int:
    """The process number of a task's training process or TensorFlow server."""
    return _process(run, task, name, supervisor_of(run, task, name))


def _process(run: LocalRunInTest, task: str, name: str, parent: int) -> int:
    kind, _, index = task.partition("-")
    wanted = {
        f"TF_CLUSTER_CONFIG={run.folder}/runs/{name}/config",
        f"TF_CLUSTER_TASK_TYPE={kind}",
        f"TF_CLUSTER_TASK_INDEX={index}",
    }
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = set((entry / "environ").read_bytes().decode().split("\0"))
            its_parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if wanted <= environment and int(its_parent) == parent:
            return int(entry.name)
    raise AssertionError(f"{task} has no process")
