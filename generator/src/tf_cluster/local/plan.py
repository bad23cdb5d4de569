"""What a local run consists of, decided once: tasks, files, variables and limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_cluster.expand.roles import has_chief, has_evaluator, has_ps
from tf_cluster.local.config_files import cluster_document, training_document
from tf_cluster.local.folders import Folders
from tf_cluster.local.task import Task, TaskType, serves
from tf_cluster.local.variables import task_variables, variables_left_out

PS_RESTARTS = 20
"""A cluster restarts ps pods without a limit."""


@dataclass(frozen=True)
class Limits:
    """How often tasks are restarted after a fault, and how many seconds their ends may take."""

    restarts: Mapping[TaskType, int]
    chief_seconds: float
    workers_seconds: float
    others_seconds: float = 10.0


@dataclass(frozen=True)
class PlannedTask:
    """A task and its environment variables."""

    task: Task
    variables: Mapping[str, str]


@dataclass(frozen=True)
class LocalPlan:
    """A local run before its first process starts.

    `tasks` are in their starting order: ps first, the chief after all that it waits for.
    `documents` are the files that every task reads, by name. `left_out` names the variables that
    only Kubernetes could fill in.
    """

    attempt: str
    folders: Folders
    tasks: tuple[PlannedTask, ...]
    documents: Mapping[str, Mapping[str, Any]]
    limits: Limits
    left_out: tuple[str, ...]

    def count(self, kind: TaskType) -> int:
        """How many tasks of this type there are."""
        return sum(planned.task.type == kind for planned in self.tasks)


def ports_needed(values: Mapping[str, Any]) -> int:
    """Two for each task: TensorFlow and status; an evaluator has the second alone."""
    return sum(count * (2 if serves(kind) else 1) for kind, count in _counts(values).items())


def plan_run(
    values: Mapping[str, Any],
    *,
    attempt: str,
    folders: Folders,
    ports: Sequence[int],
    params_folder: Path,
) -> LocalPlan:
    """The run that `values` (effective, checked) ask for, on `ports_needed` ports."""
    tasks = _tasks(values, ports)
    counts = _counts(values)
    return LocalPlan(
        attempt=attempt,
        folders=folders,
        tasks=tuple(PlannedTask(task, task_variables(values, task)) for task in tasks),
        documents={
            "cluster.json": cluster_document(
                tasks, attempt, f"each task's log is in {folders.logs}"
            ),
            "training.json": training_document(values, folders, params_folder),
        },
        limits=Limits(
            {
                "chief": values["chief"]["backoffLimit"],
                "worker": values["worker"]["backoffLimit"],
                "ps": PS_RESTARTS,
                "evaluator": values["evaluator"]["backoffLimit"],
            },
            chief_seconds=seconds_to_save(values),
            workers_seconds=values["cleanup"]["workersTimeoutSeconds"],
        ),
        left_out=tuple(
            name
            for kind, count in counts.items()
            if count
            for name in variables_left_out(values, kind)
        ),
    )


def seconds_to_save(values: Mapping[str, Any]) -> float:
    """Seconds that the chief has to save; worker 0 as chief has the longer of both roles' times."""
    chief = float(values["chief"]["terminationGracePeriodSeconds"])
    worker = float(values["worker"]["terminationGracePeriodSeconds"])
    return chief if has_chief(values) else max(chief, worker)


def _tasks(values: Mapping[str, Any], ports: Sequence[int]) -> list[Task]:
    supply = iter(ports)
    return [
        Task(kind, index, next(supply) if serves(kind) else None, next(supply))
        for kind, count in _counts(values).items()
        for index in range(count)
    ]


def _counts(values: Mapping[str, Any]) -> dict[TaskType, int]:
    """How many tasks of each type there are, in starting order."""
    return {
        "ps": values["ps"]["replicas"] if has_ps(values) else 0,
        "worker": values["worker"]["replicas"],
        "chief": 1 if has_chief(values) else 0,
        "evaluator": 1 if has_evaluator(values) else 0,
    }
