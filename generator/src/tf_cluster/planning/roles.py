"""The roles of pods as the chart's templates know them: the rows of templates/_roles.tpl."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PORTS: Mapping[str, int] = {
    "tensorflow": 2222,
    "status": 8080,
    "tensorboard": 6006,
    "notebook": 8888,
}
"""The port of each name that a role listens on."""


@dataclass(frozen=True)
class PodRole:
    """A role of pods; the columns are those of the chart's table, which says what they mean."""

    name: str
    task: bool = False
    trains: bool = False
    near: str = ""
    job: bool = False
    page: bool = False
    restart_policy: str = ""
    index: Literal["", "chart", "job"] = ""
    ports: tuple[str, ...] = ()
    probe: Mapping[str, str] = field(default_factory=dict)
    claims: Literal["always", "script", "never"] = "never"
    volumes: tuple[str, ...] = ("data", "log")
    read_only: bool = False
    gpus: Literal["always", "asked", "never"] = "never"
    code: Literal["always", "free", "script", "never"] = "never"
    command: tuple[str, ...] = ()
    tag_suffix: str = ""
    account: str = ""
    resources: Mapping[str, Any] = field(default_factory=dict)


_SERVES: Mapping[str, str] = {"path": "/healthz", "port": "status"}
_TASK_PORTS = ("tensorflow", "status")
_CHECK: Mapping[str, Any] = {
    "requests": {"cpu": "20m", "memory": "64Mi"},
    "limits": {"memory": "512Mi"},
}

POD_ROLES: Mapping[str, PodRole] = {
    role.name: role
    for role in (
        PodRole(
            "chief",
            task=True,
            trains=True,
            job=True,
            restart_policy="Never",
            index="chart",
            ports=_TASK_PORTS,
            probe=_SERVES,
            claims="always",
            code="always",
        ),
        PodRole(
            "worker",
            task=True,
            trains=True,
            job=True,
            restart_policy="Never",
            index="job",
            ports=_TASK_PORTS,
            probe=_SERVES,
            claims="always",
            gpus="always",
            code="free",
        ),
        PodRole(
            "ps",
            task=True,
            trains=True,
            near="worker",
            index="chart",
            ports=_TASK_PORTS,
            probe=_SERVES,
            claims="script",
            code="script",
        ),
        PodRole(
            "evaluator",
            task=True,
            job=True,
            restart_policy="Never",
            index="chart",
            ports=("status",),
            probe=_SERVES,
            claims="always",
            gpus="asked",
            code="always",
        ),
        PodRole(
            "cleanup",
            job=True,
            restart_policy="OnFailure",
            command=("tf-cluster-cleanup",),
        ),
        PodRole(
            "test",
            restart_policy="Never",
            claims="always",
            volumes=("log",),
            read_only=True,
            command=("tf-trainer-check",),
            account="default",
            resources=_CHECK,
        ),
        PodRole(
            "tensorboard",
            page=True,
            ports=("tensorboard",),
            probe={"path": "/data/environment", "port": "tensorboard"},
            claims="always",
            volumes=("log",),
            read_only=True,
            command=("tensorboard",),
        ),
        PodRole(
            "notebook",
            page=True,
            ports=("notebook",),
            probe={"path": "/api", "port": "notebook"},
            claims="always",
            tag_suffix="-notebook",
        ),
    )
}
"""Every role, by its name, in the chart's order."""
