"""Environment variables of tasks (docs/formats.md) that depend on the values."""

from collections.abc import Mapping
from typing import Any

from tf_cluster.local.task import Task, TaskType


def task_variables(values: Mapping[str, Any], task: Task) -> dict[str, str]:
    """The variables of one task."""
    return {
        "TF_CLUSTER_TERMINATION_LOG": "",  # of a pod that this command runs in
        **_extra(values, task.type),
        **(_of_an_evaluator(values, task) if task.type == "evaluator" else {}),
    }


def variables_left_out(values: Mapping[str, Any], kind: TaskType) -> list[str]:
    """The entries of `extraEnv` that a local task does not get: `worker.extraEnv TOKEN`."""
    return [
        f"{section}.extraEnv {name}"
        for name, (section, entry) in _extra_entries(values, kind).items()
        if _kubernetes_fills(entry)
    ]


def _of_an_evaluator(values: Mapping[str, Any], task: Task) -> dict[str, str]:
    best = values["evaluator"]["exportBest"]
    return {
        "TF_CLUSTER_STATUS": task.status_address,
        "TF_CLUSTER_EXPORT_BEST": f"{best['mode']}:{best['metric']}" if best["metric"] else "",
    }


def _extra(values: Mapping[str, Any], kind: TaskType) -> dict[str, str]:
    """The variables of `extraEnv` for tasks of this type."""
    return {
        name: entry.get("value") or ""
        for name, (_, entry) in _extra_entries(values, kind).items()
        if not _kubernetes_fills(entry)
    }


def _extra_entries(
    values: Mapping[str, Any], kind: TaskType
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The entries of `extraEnv` by name, each with its section: the role's replace those of all."""
    return {
        entry["name"]: (section, entry)
        for section in ("pod", kind)
        for entry in values[section].get("extraEnv") or []
    }


def _kubernetes_fills(entry: Mapping[str, Any]) -> bool:
    """Whether the value refers to other objects (valueFrom) or variables (`$(NAME)`, `$$`)."""
    value = entry.get("value") or ""
    return bool(entry.get("valueFrom")) or "$(" in value or "$$" in value
