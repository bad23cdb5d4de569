"""The configuration of one task, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .combination import Combination, TaskType

Mode = Literal["max", "min"]


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
    """The tasks of one attempt: host:port of their TensorFlow servers and status servers."""

    attempt: str
    cluster: Mapping[str, tuple[str, ...]]
    status: Mapping[str, tuple[str, ...]]
    hint: str

    def size(self, task_type: str) -> int:
        """Number of tasks of a type, 0 when there is none."""
        return len(self.cluster.get(task_type, ()))

    def spec(self) -> dict[str, list[str]]:
        """The TensorFlow servers as tf.train.ClusterSpec takes them."""
        return {kind: list(hosts) for kind, hosts in self.cluster.items()}


@dataclass(frozen=True)
class Schedule:
    """The learning rate's schedule: up from 0 in the warm-up, then down to a part of the full rate.

    The decay takes `decay_steps` (at least 1) after the `warmup_steps` and ends at `end_factor`
    times the full rate, which then stays. With `constant` there is no decay.
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
    """A user's script, which runs unchanged in its tasks.

    `path` is absolute, or relative to program.path. `args` may contain $(NAME). `on_ps`: the ps run
    it too; otherwise each ps is a TensorFlow server of ours.
    """

    path: str
    args: tuple[str, ...]
    on_ps: bool


@dataclass(frozen=True)
class Files:
    """Code inside the configuration: texts by relative path."""

    contents: Mapping[str, str]


@dataclass(frozen=True)
class Download:
    """Code at an HTTP(S) address: a .tar.gz, a .zip or a single .py, with its hash."""

    url: str
    sha256: str
    secret: str = ""  # the name of the Secret with the login


@dataclass(frozen=True)
class GitCommit:
    """Code in a Git repository over HTTP(S)."""

    repository: str
    commit: str
    secret: str = ""  # the name of the Secret with the login


Source = Files | Download | GitCommit


@dataclass(frozen=True)
class Settings:
    """The system's own settings, without the user's flags.

    The program is `script`, or the class that `module` names if `script` is None. With a `source`,
    program_path is relative to the source until the code is fetched, then absolute. An interactive
    cluster has neither: `idle_seconds` is how long its workers wait for a client. `ps_log_volume`:
    whether the ps reach `log_dir` (None: to be tried), and so write large tensors themselves.
    """

    run_name: str
    run_id: str
    module: str
    script: Script | None
    source: Source | None
    program_path: str
    idle_seconds: float | None
    combination: Combination
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
    ps_log_volume: bool | None
    peer_deadline_seconds: float
    restarts: int
    final_state_seconds: float

    @property
    def examples_a_step(self) -> int:
        """Examples of one step of one training task."""
        return self.batch_size * self.micro_batches

    @property
    def interactive(self) -> bool:
        """Whether the tasks serve a client that is none of them."""
        return self.idle_seconds is not None

    @property
    def epoch_bound(self) -> TaskType | None:
        """The type of task whose child serves one child of the chief; None: no task's does."""
        row = self.combination
        return row.epoch_bound_script if self.script else row.epoch_bound

    @property
    def run_dir(self) -> Path:
        """The directory of this run's checkpoints, events, exports and progress."""
        return self.log_dir / self.run_name / self.run_id


@dataclass(frozen=True)
class ExportBest:
    """Which checkpoint is best: the one with the greatest or the least value of a metric."""

    metric: str
    mode: Mode


@dataclass(frozen=True)
class Config:
    """A task's whole configuration.

    `training` is the unchanged training.json, for the run's records. `export_best` is for an
    evaluator; None: it exports no model.
    """

    task: Task
    cluster: Cluster
    settings: Settings
    flags: Mapping[str, Any]
    training: Mapping[str, Any]
    export_best: ExportBest | None = None

    @property
    def chief_type(self) -> TaskType:
        """The type of the task that drives the run: chief or worker; its index is 0."""
        return self.settings.combination.chief_type

    @property
    def is_chief(self) -> bool:
        """Whether this task drives the run: it saves, reports, exports and reports the end."""
        return self.task.index == 0 and self.task.type == self.chief_type

    @property
    def trains(self) -> bool:
        """Whether this task's child makes steps itself: every worker of a run without a task
        `chief`.
        """
        return self.task.type == "worker" and self.chief_type == "worker"

    @property
    def evaluates(self) -> bool:
        """Whether this task is an evaluator."""
        return self.task.type == "evaluator"

    @property
    def runs_script(self) -> bool:
        """Whether this task's child is the user's script."""
        script = self.settings.script
        return script is not None and (self.task.type != "ps" or script.on_ps)

    @property
    def runs_user_code(self) -> bool:
        """Whether this task needs the user's program: a server of ours does not."""
        if self.settings.script:
            return self.runs_script
        return self.is_chief or self.trains or self.evaluates
