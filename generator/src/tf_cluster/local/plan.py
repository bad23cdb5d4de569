"""What a local run consists of: tasks, folders and the two files that every task reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tf_cluster.expand.roles import has_chief, has_evaluator, has_ps
from tf_cluster.expand.source import source_document

TaskType = Literal["chief", "worker", "ps", "evaluator"]

PEERS_DEADLINE_SECONDS = 300
"""At most; a cluster waits longer, since its pods may have to wait for a node."""

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Task:
    """One task and its ports on the loopback interface. An evaluator has no TensorFlow server."""

    type: TaskType
    index: int
    port: int | None
    status_port: int

    @property
    def ports(self) -> list[int]:
        """All that it listens on."""
        return [port for port in (self.port, self.status_port) if port is not None]

    @property
    def status_address(self) -> str:
        """Of its status server."""
        return f"{_LOOPBACK}:{self.status_port}"

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
    """Two for each task: TensorFlow and status; an evaluator has the second alone."""
    return sum(count * (2 if _serves(kind) else 1) for kind, count in _roles(values))


def plan_tasks(values: Mapping[str, Any], ports: Sequence[int]) -> list[Task]:
    """The tasks that `values` asks for: ps first, the chief after all that it waits for."""
    supply = iter(ports)
    return [
        Task(kind, index, next(supply) if _serves(kind) else None, next(supply))
        for kind, count in _roles(values)
        for index in range(count)
    ]


def cluster_document(tasks: Sequence[Task], attempt: str, hint: str) -> dict[str, Any]:
    """cluster.json of these tasks. An evaluator is in none: nobody waits for it."""
    tasks = [task for task in tasks if _serves(task.type)]
    return {
        "version": 1,
        "attempt": attempt,
        "cluster": {
            kind: [f"{_LOOPBACK}:{task.port}" for task in tasks if task.type == kind]
            for kind in dict.fromkeys(task.type for task in tasks)
        },
        "status": {
            kind: [task.status_address for task in tasks if task.type == kind]
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
        ("evaluator", 1 if has_evaluator(values) else 0),
    ]


def _serves(kind: TaskType) -> bool:
    """Whether tasks of this type have a TensorFlow server."""
    return kind != "evaluator"


def evaluator_variables(values: Mapping[str, Any], task: Task) -> dict[str, str]:
    """What an evaluator is told in its environment (docs/formats.md)."""
    best = values["evaluator"]["exportBest"]
    return {
        "TF_CLUSTER_STATUS": task.status_address,
        "TF_CLUSTER_EXPORT_BEST": f"{best['mode']}:{best['metric']}" if best["metric"] else "",
    }


def extra_variables(values: Mapping[str, Any], kind: TaskType) -> dict[str, str]:
    """What `extraEnv` adds for tasks of this type; they win, as in a pod."""
    return {
        entry["name"]: entry.get("value") or ""
        for entry in values[kind]["extraEnv"]
        if not _kubernetes_fills(entry)
    }


def variables_left_out(values: Mapping[str, Any]) -> list[str]:
    """The variables of `extraEnv` that a local task does not get: `worker.extraEnv TOKEN`."""
    return [
        f"{kind}.extraEnv {entry['name']}"
        for kind, count in _roles(values)
        if count
        for entry in values[kind]["extraEnv"]
        if _kubernetes_fills(entry)
    ]


def _kubernetes_fills(entry: Mapping[str, Any]) -> bool:
    """Whether the value comes of other objects (valueFrom) or variables (`$(NAME)`, `$$`)."""
    value = entry.get("value") or ""
    return bool(entry.get("valueFrom")) or "$(" in value or "$$" in value


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
