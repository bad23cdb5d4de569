"""What a local run consists of: tasks, folders and the two files that every task reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tf_cluster.roles import has_chief, has_ps
from tf_cluster.source import source_document

TaskType = Literal["chief", "worker", "ps"]

PEERS_DEADLINE_SECONDS = 300
"""At most; a cluster waits longer, since its pods may have to wait for a node."""

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Task:
    """One task of the cluster and its two ports on the loopback interface."""

    type: TaskType
    index: int
    port: int
    status_port: int

    @property
    def name(self) -> str:
        """For messages and file names: `worker-0`."""
        return f"{self.type}-{self.index}"


@dataclass(frozen=True)
class Folders:
    """Where a local run keeps what. All absolute."""

    runs: Path
    name: str
    run_id: str
    data: Path

    @property
    def root(self) -> Path:
        """Of everything of this name."""
        return self.runs / self.name

    @property
    def config(self) -> Path:
        """cluster.json and training.json."""
        return self.root / "config"

    @property
    def logs(self) -> Path:
        """One file per task."""
        return self.root / "logs"

    @property
    def lock(self) -> Path:
        """Held while a run of this name goes on."""
        return self.root / "lock"

    @property
    def run(self) -> Path:
        """The run directory (docs/formats.md): checkpoints, events, exports, progress.json."""
        return self.root / self.run_id


def ports_needed(values: Mapping[str, Any]) -> int:
    """Two for each task: TensorFlow and status."""
    return 2 * sum(count for _, count in _roles(values))


def plan_tasks(values: Mapping[str, Any], ports: Sequence[int]) -> list[Task]:
    """The tasks that `values` asks for: ps first, the chief last."""
    supply = iter(ports)
    return [
        Task(kind, index, next(supply), next(supply))
        for kind, count in _roles(values)
        for index in range(count)
    ]


def cluster_document(tasks: Sequence[Task], attempt: str, hint: str) -> dict[str, Any]:
    """cluster.json of these tasks."""
    return {
        "version": 1,
        "attempt": attempt,
        "cluster": {
            kind: [f"{_LOOPBACK}:{task.port}" for task in tasks if task.type == kind]
            for kind in dict.fromkeys(task.type for task in tasks)
        },
        "status": {
            kind: [f"{_LOOPBACK}:{task.status_port}" for task in tasks if task.type == kind]
            for kind in dict.fromkeys(task.type for task in tasks)
        },
        "hint": hint,
    }


def training_document(
    values: Mapping[str, Any], folders: Folders, params_folder: Path
) -> dict[str, Any]:
    """training.json of effective values; relative program paths stand beside the params file."""
    optimizer = {k: v for k, v in values["train"]["optimizer"].items() if v is not None}
    return {
        "version": 1,
        "run": {"name": folders.name, "id": folders.run_id},
        "program": _program(values, folders, params_folder),
        **{key: values[key] for key in ("strategy", "replication", "update")},
        "train": {**values["train"], "optimizer": optimizer},
        "flags": values["flags"],
        "dirs": {"data": str(folders.data), "log": str(folders.runs)},
        "peers": {
            "deadlineSeconds": min(values["peers"]["deadlineSeconds"], PEERS_DEADLINE_SECONDS)
        },
        "failure": dict(values["failure"]),
    }


def _roles(values: Mapping[str, Any]) -> list[tuple[TaskType, int]]:
    return [
        ("ps", values["ps"]["replicas"] if has_ps(values) else 0),
        ("worker", values["worker"]["replicas"]),
        ("chief", 1 if has_chief(values) else 0),
    ]


def client_name(tasks: Sequence[Task]) -> str:
    """The task that keeps the run: saves, tells progress, says how it ended."""
    names = [task.name for task in tasks]
    return "chief-0" if "chief-0" in names else "worker-0"


def seconds_to_save(values: Mapping[str, Any]) -> float:
    """How long that task may take to end: a chief's time; worker 0 has its own if it is longer."""
    chief = float(values["chief"]["terminationGracePeriodSeconds"])
    worker = float(values["worker"]["terminationGracePeriodSeconds"])
    return chief if has_chief(values) else max(chief, worker)


def _program(values: Mapping[str, Any], folders: Folders, params_folder: Path) -> dict[str, Any]:
    program, source = values["program"], source_document(values)
    path, script = program.get("path"), program.get("script")
    if not source:
        if script and not path:
            script = str(_program_path(script, folders, params_folder))
        if path:
            path = str(_program_path(path, folders, params_folder))
    return {
        **(
            {"script": script, "args": program["args"], "ps": program["ps"]}
            if script
            else {"module": program["module"]}
        ),
        **({"path": path} if path else {}),
        **({"source": source} if source else {}),
    }


def _program_path(path: str, folders: Folders, params_folder: Path) -> Path:
    """In a pod the data volume is /data; here it is the data directory."""
    if path == "/data" or path.startswith("/data/"):
        return folders.data / path.removeprefix("/data").lstrip("/")
    return params_folder / path
