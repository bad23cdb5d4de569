"""One attempt: its configuration, and the Jobs and Deployments that Kubernetes keeps for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tf_cluster_cleanup import decision
from tf_cluster_cleanup.job_state import JobState, Phase
from tf_cluster_cleanup.plan import Plan
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import (
    CheckpointCadence,
    Cluster,
    Combination,
    Config,
    Optimizer,
    Script,
    Settings,
    Task,
)

if TYPE_CHECKING:
    from .world import World

FOLDER = Path("/run-directory")


@dataclass
class Job:
    """A Job, or a Deployment of one ps (`endless`): which pods it wants, and how it ended."""

    attempt: Attempt
    kind: str
    size: int
    backoff: int
    endless: bool = False
    index: int = 0
    uid: str = ""
    failures: int = 0
    done: set[int] = field(default_factory=set)
    phase: Phase = Phase.RUNNING
    cut: bool = False
    deleted: bool = False

    @property
    def wants_pods(self) -> bool:
        """Whether a pod that is gone is replaced."""
        return self.phase is Phase.RUNNING and not self.deleted

    @property
    def indexes(self) -> range:
        """Of its pods."""
        return range(self.index, self.index + 1) if self.endless else range(self.size)

    def state(self, ready: bool) -> JobState:
        """As cleanup reads it."""
        if self.deleted:
            return JobState(Phase.ABSENT)
        running = self.phase is Phase.RUNNING
        gap = next(index for index in range(self.size + 1) if index not in self.done)
        size = gap if self.cut else self.size
        return JobState(self.phase, "", size, gap if running else 0, running and ready)


@dataclass
class Attempt:
    """What Helm made in one go."""

    name: str
    combination: Combination
    workers: int
    ps: int
    total: int
    restarts: int
    deadline: float
    evaluator: bool
    backoff: int  # of the workers' Job
    script: bool = False
    script_on_ps: bool = False
    number: int = 1  # attempts of the same settings have the same name
    jobs: dict[str, Job] = field(default_factory=dict)
    memory: decision.Memory | None = None
    cleaned: bool = False
    # What really happened, for the invariants: how its chief ended for good.
    final: str | None = None
    script_done: bool = False  # the chief's
    waited_for_nodes: bool = False  # for longer than a task waits for another

    def __post_init__(self) -> None:
        row = self.combination
        hosts = {"worker": self.workers, "ps": self.ps if row.has_ps else 0}
        if row.has_chief:
            hosts["chief"] = 1
        addresses = {
            kind: tuple(f"{kind}-{index}.{self.name}:1" for index in range(count))
            for kind, count in hosts.items()
            if count
        }
        self.cluster = Cluster(self.name, addresses, addresses, "")
        self.settings = Settings(
            run_name="run",
            run_id="1",
            module="program:Program",
            script=Script("train.py", (), self.script_on_ps) if self.script else None,
            source=None,
            program_path="",
            idle_seconds=None,
            combination=row,
            steps=self.total,
            batch_size=1,
            micro_batches=1,
            steps_per_call=None,
            seed=1,
            precision="float32",
            xla=False,
            optimizer=Optimizer("SGD", 0.1, None),
            checkpoint=CheckpointCadence(8.0, None, 5),
            report_seconds=2.0,
            data_dir=FOLDER,
            log_dir=FOLDER,
            ps_log_volume=None,
            peer_deadline_seconds=self.deadline,
            restarts=self.restarts,
            final_state_seconds=15.0,
        )
        if row.has_chief:
            self._job("chief", 1, 6)
        self._job("worker", self.workers, self.backoff)
        for index in range(hosts["ps"]):
            key = f"ps-{index}"
            self.jobs[key] = Job(self, "ps", 1, 0, endless=True, index=index)
        if self.evaluator:
            self._job("evaluator", 1, 6)

    def _job(self, kind: str, size: int, backoff: int) -> None:
        self.jobs[kind] = Job(self, kind, size, backoff, uid=f"{kind}-job-{self.number}")

    @property
    def chief(self) -> tuple[str, int]:
        """Type and index of the task that drives it."""
        return self.combination.chief_type, 0

    @property
    def chiefs_job(self) -> Job:
        """The Job whose end is the training's."""
        return self.jobs[self.combination.chief_type]

    def config(self, kind: str, index: int, job: str, pod: str) -> Config:
        """What a task of it is told."""
        task: Any = Task(kind, index, job, pod)  # type: ignore[arg-type]
        return Config(task, self.cluster, self.settings, {}, {})

    def look(self, world: World) -> None:
        """What cleanup does when it looks, every few seconds."""
        if self.cleaned or all(job.deleted for job in self.jobs.values()):
            return
        world.engine.soon(4.0, 6.0, self.look, world)
        if not (self.combination.has_ps or self.evaluator):
            return
        names = {kind: job for kind, job in self.jobs.items() if not job.endless}
        client = self.combination.chief_type
        others = tuple(kind for kind in names if kind not in (client, "evaluator"))
        plan = Plan(
            client=client,
            jobs=others,
            deployments=tuple(key for key, job in self.jobs.items() if job.endless),
            workers_timeout=60.0,
            delay_success=30.0,
            delay_failure=30.0,
            jobs_after_failure=("evaluator",) if self.evaluator else (),
            completions={"worker": self.workers},
        )
        now = world.engine.now
        states = {kind: job.state(world.is_ready(job)) for kind, job in names.items()}
        memory = self.memory or decision.Memory(started=now)
        seen = decision.Seen(now, states[client], states)
        self.memory, action = decision.decide(plan, memory, seen)
        if isinstance(action, decision.EndJobs):
            world.engine.tell(f"cleanup {self.name}", f"ends {', '.join(action.names)}")
            for kind in action.names:
                world.fail(self.jobs[kind])
        elif isinstance(action, decision.ResizeJobs):
            for kind, size in action.sizes.items():
                self.jobs[kind].cut = size < self.jobs[kind].size
                world.cut(self.jobs[kind])
        elif isinstance(action, decision.ScaleDown):
            world.engine.tell(f"cleanup {self.name}", "scales ps to 0")
            for job in self.jobs.values():
                if job.endless:
                    job.phase = Phase.COMPLETE
                    world.stop_pods(job)
        elif isinstance(action, decision.Finish):
            self.cleaned = True


def counts_as_failure(code: int) -> bool:
    """By the podFailurePolicy of the chart: 42, and a disruption, do not count."""
    return code != exit_codes.STOPPED


def changed(attempt: Attempt, name: str, **changes: Any) -> Attempt:
    """The attempt of an upgrade."""
    kept = (
        "combination",
        "workers",
        "ps",
        "total",
        "restarts",
        "deadline",
        "evaluator",
        "backoff",
        "script",
        "script_on_ps",
    )
    settings = {key: getattr(attempt, key) for key in kept}
    return Attempt(name, **{**settings, **changes})
