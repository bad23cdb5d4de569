"""What a task is told: cluster.json, training.json and its own place, as frozen data.

The formats are described in docs/formats.md; the schemas beside this file are their law.
Imports neither TensorFlow nor anything that does: the supervisor uses it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

import jsonschema

TaskType = Literal["chief", "worker", "ps", "evaluator"]
Mode = Literal["max", "min"]

# From a supervisor to its child: the directory that program.source was fetched into.
CODE_VARIABLE = "TF_CLUSTER_CODE"
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
class Schedule:
    """How the learning rate goes: up from 0 in the warm-up, then down to a part of the full one.

    The decay takes `decay_steps` (at least 1) after the `warmup_steps`, and ends at `end_factor`
    times the full rate, which then stays. By `constant` nothing decays.
    """

    name: str
    decay_steps: int
    end_factor: float
    warmup_steps: int


@dataclass(frozen=True)
class Optimizer:
    """Name and arguments of the optimizer. Without a schedule the learning rate is constant."""

    name: str
    learning_rate: float
    momentum: float | None
    schedule: Schedule | None = None


@dataclass(frozen=True)
class CheckpointCadence:
    """When to save (seconds, and steps unless None) and how many to keep."""

    seconds: float
    steps: int | None
    keep: int


@dataclass(frozen=True)
class Script:
    """A script of the user's own, run as it is in every task that is to run it.

    `path` is absolute, or relative to program.path. `args` may hold $(NAME)s. `on_ps`: the ps run
    it too; else each of them is a TensorFlow server of ours.
    """

    path: str
    args: tuple[str, ...]
    on_ps: bool


@dataclass(frozen=True)
class Files:
    """Code that stands in the configuration itself: texts by relative path."""

    contents: Mapping[str, str]


@dataclass(frozen=True)
class Download:
    """Code at an HTTP(S) address: a .tar.gz, a .zip or a single .py of this hash."""

    url: str
    sha256: str


@dataclass(frozen=True)
class GitCommit:
    """Code in a Git repository that is reached by HTTP(S)."""

    repository: str
    commit: str


Source = Files | Download | GitCommit


@dataclass(frozen=True)
class Settings:
    """The system's own settings; the user's flags are apart.

    What is trained is `script`, or where that is None the class that `module` names. With a
    `source` program_path is absolute once that was fetched, and relative to it before.
    """

    run_name: str
    run_id: str
    module: str
    script: Script | None
    source: Source | None
    program_path: str
    strategy: str
    replication: str
    update: str
    steps: int
    batch_size: int
    micro_batches: int
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
    def examples_a_step(self) -> int:
        """Of one training task."""
        return self.batch_size * self.micro_batches

    @property
    def run_dir(self) -> Path:
        """Where this run's checkpoints, events, exports and progress are."""
        return self.log_dir / self.run_name / self.run_id


@dataclass(frozen=True)
class ExportBest:
    """Which checkpoint is the best: the one with the greatest or the least value of a metric."""

    metric: str
    mode: Mode


@dataclass(frozen=True)
class Config:
    """All that a task is told.

    `training` is training.json as it stands, for the run's records. `export_best` is an
    evaluator's, None: it exports no model.
    """

    task: Task
    cluster: Cluster
    settings: Settings
    flags: Mapping[str, Any]
    training: Mapping[str, Any]
    export_best: ExportBest | None = None

    @property
    def is_client(self) -> bool:
        """Whether this task drives the run: saves, reports, exports, says how it ended."""
        return self.task.index == 0 and self.task.type == self.cluster.client

    @property
    def trains(self) -> bool:
        """Whether this task's child makes steps itself: every worker where there is no chief."""
        return self.task.type == "worker" and self.cluster.client == "worker"

    @property
    def evaluates(self) -> bool:
        """Whether this task measures the checkpoints of a training that it has no part in."""
        return self.task.type == "evaluator"

    @property
    def runs_script(self) -> bool:
        """Whether this task's child is the user's script."""
        script = self.settings.script
        return script is not None and (self.task.type != "ps" or script.on_ps)

    @property
    def runs_user_code(self) -> bool:
        """Whether this task needs the program at all: a server of ours does not."""
        if self.settings.script:
            return self.runs_script
        return self.is_client or self.trains or self.evaluates


def load(environment: Mapping[str, str]) -> Config:
    """Read the two files that the environment names and this task's place in them.

    Raises ConfigError for a missing or malformed file, or a task that the cluster does not have.
    """
    directory = Path(environment.get("TF_CLUSTER_CONFIG", DEFAULT_CONFIG_DIR))
    cluster = _cluster(_document(directory / "cluster.json", "cluster"))
    training = _document(directory / "training.json", "training")
    task = _task(environment, cluster)
    export_best = None
    if task.type == "evaluator":
        cluster = _with_evaluator(cluster, environment.get("TF_CLUSTER_STATUS", ""))
        export_best = _export_best(environment.get("TF_CLUSTER_EXPORT_BEST", ""))
    settings = _settings(training, environment.get(CODE_VARIABLE, ""))
    return Config(task, cluster, settings, training["flags"], training, export_best)


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
            f"{path}: /{'/'.join(str(p) for p in e.absolute_path)}: "
            # What a choice of forms asks for can't be said by the validator in a person's words.
            f"{e.schema['x-form'] if e.validator == 'oneOf' else e.message}"
            for e in errors
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


def _settings(document: Any, fetched: str) -> Settings:
    run, program, train = document["run"], document["program"], document["train"]
    optimizer, checkpoint = train["optimizer"], train["checkpoint"]
    return Settings(
        run_name=run["name"],
        run_id=run["id"],
        module=program.get("module", ""),
        script=_script(program),
        source=_source(program.get("source")),
        program_path=_program_path(program, fetched),
        strategy=document["strategy"],
        replication=document["replication"],
        update=document["update"],
        steps=train["steps"],
        batch_size=train["batchSize"],
        micro_batches=train.get("microBatches", 1),
        steps_per_call=train.get("stepsPerCall"),
        seed=train["seed"],
        precision=train.get("precision", "float32"),
        xla=train.get("xla", False),
        optimizer=Optimizer(
            optimizer["name"],
            float(optimizer["learningRate"]),
            optimizer.get("momentum"),
            _schedule(optimizer.get("schedule"), train["steps"]),
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


def _script(program: Mapping[str, Any]) -> Script | None:
    if "script" not in program:
        return None
    args = tuple(program.get("args", ()))
    return Script(program["script"], args, program.get("ps", "server") == "script")


def _source(document: Any) -> Source | None:
    if document is None:
        return None
    if "files" in document:
        return Files(document["files"])
    if "url" in document:
        return Download(document["url"], document["sha256"])
    return GitCommit(document["git"], document["commit"])


def _program_path(program: Mapping[str, Any], fetched: str) -> str:
    path: str = program.get("path", "")
    if "source" not in program:
        return path
    inside = PurePosixPath(path)
    if inside.is_absolute() or ".." in inside.parts:
        raise ConfigError(
            f"training.json: /program/path is {path}, but with a source it is a directory in that"
        )
    return str(Path(fetched, inside)) if fetched else path


def _schedule(document: Any, total: int) -> Schedule | None:
    """Left out: the decay takes the rest of the run, and ends at 0."""
    if document is None:
        return None
    warmup = document.get("warmupSteps") or 0
    if document["name"] == "constant" and not warmup:
        return None
    return Schedule(
        name=document["name"],
        decay_steps=document.get("decaySteps") or max(1, total - warmup),
        end_factor=float(document.get("endFactor") or 0.0),
        warmup_steps=warmup,
    )


def _task(environment: Mapping[str, str], cluster: Cluster) -> Task:
    kind = environment.get("TF_CLUSTER_TASK_TYPE", "")
    if kind not in get_args(TaskType):
        raise ConfigError(
            f"TF_CLUSTER_TASK_TYPE is {kind!r}, not one of {', '.join(get_args(TaskType))}"
        )
    text = environment.get("TF_CLUSTER_TASK_INDEX", environment.get("JOB_COMPLETION_INDEX", "0"))
    if kind == "evaluator" and text != "0":
        raise ConfigError(f"task {kind} {text}: there is one evaluator, 0")
    if kind != "evaluator" and (not text.isdecimal() or int(text) >= cluster.size(kind)):
        raise ConfigError(
            f"task {kind} {text}: cluster.json has {cluster.size(kind)} of this type, from 0"
        )
    return Task(
        kind,  # type: ignore[arg-type]  # checked above
        int(text),
        environment.get("TF_CLUSTER_JOB_UID", ""),
        environment.get("TF_CLUSTER_POD_UID", ""),
    )


def _with_evaluator(cluster: Cluster, address: str) -> Cluster:
    """The evaluator is in no cluster.json, so that it can come and go beside a training."""
    if not re.fullmatch(r"[A-Za-z0-9.-]+:[0-9]{1,5}", address):
        raise ConfigError(
            f"TF_CLUSTER_STATUS is {address!r}: the evaluator's status server needs a host:port"
        )
    return replace(cluster, status={**cluster.status, "evaluator": (address,)})


def _export_best(text: str) -> ExportBest | None:
    if not text:
        return None
    mode, _, metric = text.partition(":")
    if mode not in get_args(Mode) or not metric:
        raise ConfigError(f"TF_CLUSTER_EXPORT_BEST is {text!r}, not max:<metric> or min:<metric>")
    return ExportBest(metric, mode)  # type: ignore[arg-type]  # checked above
