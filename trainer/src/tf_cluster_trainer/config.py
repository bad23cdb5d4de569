"""What a task is told: cluster.json, training.json and its own place, as frozen data.

The formats are described in docs/formats.md; the schemas beside this file are their law.
Imports neither TensorFlow nor anything that does: the supervisor uses it too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import jsonschema

TaskType = Literal["chief", "worker", "ps"]

DEFAULT_CONFIG_DIR = "/etc/tf-cluster"


class ConfigError(Exception):
    """The configuration can't be used; the message names the place and the fix. Exit code 2."""


@dataclass(frozen=True)
class Task:
    """Which task this process is.

    `job_uid` is the UID of the Job behind it ("" for ps), `pod_uid` that of this pod or process.
    """

    type: TaskType
    index: int
    job_uid: str
    pod_uid: str

    @property
    def name(self) -> str:
        """For messages and addresses: `worker-0`."""
        return f"{self.type}-{self.index}"


@dataclass(frozen=True)
class Cluster:
    """Who takes part in one attempt: host:port of TensorFlow servers and of status servers."""

    attempt: str
    cluster: Mapping[str, tuple[str, ...]]
    status: Mapping[str, tuple[str, ...]]
    hint: str

    def size(self, task_type: str) -> int:
        """Number of tasks of a type, 0 when there is none."""
        return len(self.cluster.get(task_type, ()))

    @property
    def client(self) -> TaskType:
        """The type of the task that drives the run: the chief, else worker 0."""
        return "chief" if self.size("chief") else "worker"


@dataclass(frozen=True)
class Optimizer:
    """Name and arguments of the optimizer."""

    name: str
    learning_rate: float
    momentum: float | None


@dataclass(frozen=True)
class CheckpointCadence:
    """When to save (seconds, and steps unless None) and how many to keep."""

    seconds: float
    steps: int | None
    keep: int


@dataclass(frozen=True)
class Settings:
    """The system's own settings; the user's flags are apart."""

    run_name: str
    run_id: str
    module: str
    program_path: str
    strategy: str
    replication: str
    update: str
    steps: int
    batch_size: int
    steps_per_call: int | None
    seed: int
    precision: str
    xla: bool
    optimizer: Optimizer
    checkpoint: CheckpointCadence
    report_seconds: float
    data_dir: Path
    log_dir: Path
    peer_deadline_seconds: float
    restarts: int
    final_state_seconds: float

    @property
    def run_dir(self) -> Path:
        """Where this run's checkpoints, events, exports and progress are."""
        return self.log_dir / self.run_name / self.run_id


@dataclass(frozen=True)
class Config:
    """All that a task is told."""

    task: Task
    cluster: Cluster
    settings: Settings
    flags: Mapping[str, Any]

    @property
    def is_client(self) -> bool:
        """Whether this task drives the run: saves, reports, exports, says how it ended."""
        return self.task.index == 0 and self.task.type == self.cluster.client

    @property
    def trains(self) -> bool:
        """Whether this task's child makes steps itself: every worker where there is no chief."""
        return self.task.type == "worker" and self.cluster.client == "worker"


def load(environment: Mapping[str, str]) -> Config:
    """Read the two files that the environment names and this task's place in them.

    Raises ConfigError for a missing or malformed file, or a task that the cluster does not have.
    """
    directory = Path(environment.get("TF_CLUSTER_CONFIG", DEFAULT_CONFIG_DIR))
    cluster = _cluster(_document(directory / "cluster.json", "cluster"))
    training = _document(directory / "training.json", "training")
    task = _task(environment, cluster)
    return Config(task, cluster, _settings(training), training["flags"])


def _document(path: Path, schema_name: str) -> Any:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; the chart mounts it, `tf-cluster run` writes it, "
            "TF_CLUSTER_CONFIG names its directory"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    schema = json.loads(
        resources.files(__package__)
        .joinpath(f"schemas/{schema_name}.schema.json")
        .read_text(encoding="utf-8")
    )
    errors = sorted(
        jsonschema.Draft7Validator(schema).iter_errors(document), key=lambda e: e.json_path
    )
    if errors:
        lines = (
            f"{path}: /{'/'.join(str(p) for p in e.absolute_path)}: {e.message}" for e in errors
        )
        raise ConfigError("\n".join(lines))
    return document


def _cluster(document: Any) -> Cluster:
    hosts = {
        key: {kind: tuple(addresses) for kind, addresses in document[key].items()}
        for key in ("cluster", "status")
    }
    for kind, addresses in hosts["cluster"].items():
        if len(hosts["status"].get(kind, ())) != len(addresses):
            raise ConfigError(
                f"cluster.json: /status/{kind}: one address for each of /cluster/{kind}"
            )
    return Cluster(document["attempt"], hosts["cluster"], hosts["status"], document.get("hint", ""))


def _settings(document: Any) -> Settings:
    run, program, train = document["run"], document["program"], document["train"]
    optimizer, checkpoint = train["optimizer"], train["checkpoint"]
    return Settings(
        run_name=run["name"],
        run_id=run["id"],
        module=program["module"],
        program_path=program.get("path", ""),
        strategy=document["strategy"],
        replication=document["replication"],
        update=document["update"],
        steps=train["steps"],
        batch_size=train["batchSize"],
        steps_per_call=train.get("stepsPerCall"),
        seed=train["seed"],
        precision=train.get("precision", "float32"),
        xla=train.get("xla", False),
        optimizer=Optimizer(
            optimizer["name"], float(optimizer["learningRate"]), optimizer.get("momentum")
        ),
        checkpoint=CheckpointCadence(
            float(checkpoint["seconds"]), checkpoint.get("steps"), checkpoint["keep"]
        ),
        report_seconds=float(train["reportSeconds"]),
        data_dir=Path(document["dirs"]["data"]),
        log_dir=Path(document["dirs"]["log"]),
        peer_deadline_seconds=float(document["peers"]["deadlineSeconds"]),
        restarts=document["failure"]["restarts"],
        final_state_seconds=float(document["failure"]["finalStateSeconds"]),
    )


def _task(environment: Mapping[str, str], cluster: Cluster) -> Task:
    kind = environment.get("TF_CLUSTER_TASK_TYPE", "")
    if kind not in get_args(TaskType):
        raise ConfigError(
            f"TF_CLUSTER_TASK_TYPE is {kind!r}, not one of {', '.join(get_args(TaskType))}"
        )
    text = environment.get("TF_CLUSTER_TASK_INDEX", environment.get("JOB_COMPLETION_INDEX", "0"))
    if not text.isdecimal() or int(text) >= cluster.size(kind):
        raise ConfigError(
            f"task {kind} {text}: cluster.json has {cluster.size(kind)} of this type, from 0"
        )
    return Task(
        kind,  # type: ignore[arg-type]  # checked above
        int(text),
        environment.get("TF_CLUSTER_JOB_UID", ""),
        environment.get("TF_CLUSTER_POD_UID", ""),
    )
