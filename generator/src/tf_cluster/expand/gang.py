"""Schedulers that start all tasks of a training, or none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.expand.roles import has_chief, has_ps


@dataclass(frozen=True)
class Gang:
    """A provider of gangs; the chart has the same rows (templates/scheduling).

    Pods say by a label or by an annotation of its own whose members they are.
    """

    provider: str
    api: str
    scheduler: str
    label: str = ""
    annotation: str = ""


PROVIDERS: Mapping[str, Gang] = {
    row.provider: row
    for row in (
        Gang(
            "coscheduling",
            "scheduling.x-k8s.io/v1alpha1",
            "scheduler-plugins-scheduler",
            label="scheduling.x-k8s.io/pod-group",
        ),
        Gang(
            "volcano",
            "scheduling.volcano.sh/v1beta1",
            "volcano",
            annotation="scheduling.k8s.io/group-name",
        ),
    )
}


def members(values: Mapping[str, Any]) -> int:
    """How many tasks a training can't do without: chief, workers and parameter servers."""
    is_interactive = bool((values.get("interactive") or {}).get("enabled"))
    chief = has_chief(values) and not is_interactive
    ps = int(values["ps"]["replicas"]) if has_ps(values) else 0
    return chief + int(values["worker"]["replicas"]) + ps


def gang(values: Mapping[str, Any]) -> Gang | None:
    """The gang that values ask for, with the scheduler's name; None for none."""
    asked = (values.get("scheduling") or {}).get("gang") or {}
    row = PROVIDERS.get(str(asked.get("provider")))
    name = asked.get("schedulerName")
    return replace(row, scheduler=name) if row and name else row
