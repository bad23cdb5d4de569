"""What a cluster holds of trainings at one moment, as far as the verbs look at it.

Only what is needed stands here: no environment, argument, Secret or ConfigMap. So a snapshot that
is written to a file can be handed to a stranger.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from tf_cluster.cluster.labels import CLIENTS


@dataclass(frozen=True)
class Condition:
    """A condition of an object: `kind` is its type, `status` is True, False or Unknown."""

    kind: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None


def of_kind(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((one for one in conditions if one.kind == kind), None)


@dataclass(frozen=True)
class Ended:
    """How a container ended."""

    exit_code: int
    reason: str = ""
    message: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class Container:
    """A container of a pod. `ended` is its own end; `before` that of the one it replaced."""

    name: str
    image: str = ""
    is_init: bool = False
    is_sidecar: bool = False
    is_ready: bool = False
    is_running: bool = False
    restarts: int = 0
    waits_for: str = ""
    message: str = ""
    ended: Ended | None = None
    before: Ended | None = None

    @property
    def last_end(self) -> Ended | None:
        """Its own end, or that of the one it replaced."""
        return self.ended or self.before


@dataclass(frozen=True)
class Pod:
    """A pod of a training. `amounts` is what it asks for, by resource, in the resource's unit.

    `log` is the end of its log, where that was read.
    """

    name: str
    role: str
    attempt: str
    phase: str
    index: int = 0
    owner: str = ""
    uid: str = ""
    node: str = ""
    reason: str = ""
    message: str = ""
    created: datetime | None = None
    deleted: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    containers: tuple[Container, ...] = ()
    amounts: dict[str, float] = field(default_factory=dict)
    selector: dict[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    log: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """`worker-1`, or `chief`."""
        return self.role if self.role in ("chief", "evaluator") else f"{self.role}-{self.index}"

    @property
    def main(self) -> Container | None:
        """The container that is the task."""
        return next((one for one in self.containers if one.name == self.role), None)

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type."""
        return of_kind(self.conditions, kind)

    @property
    def is_ready(self) -> bool:
        """Whether Kubernetes calls it ready."""
        ready = self.condition("Ready")
        return ready is not None and ready.status == "True"

    @property
    def has_ended(self) -> bool:
        """Whether no container of it will run again."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True)
class Job:
    """A Job of a training. `stopped` is when `tf-cluster stop` told it to end, or empty."""

    name: str
    role: str
    attempt: str
    tasks: int = 1
    ready: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    is_suspended: bool = False
    stopped: str = ""
    backoff_limit: int | None = None
    created: datetime | None = None
    ended: datetime | None = None
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type, where it is True."""
        return of_kind((one for one in self.conditions if one.status == "True"), kind)

    @property
    def has_ended(self) -> bool:
        """Whether it is complete or failed."""
        return bool(self.condition("Complete") or self.condition("Failed"))


@dataclass(frozen=True)
class Deployment:
    """A Deployment of a training: a parameter server. Or a server of models, which `models` names.

    `models` is what its annotation says (docs/formats.md).
    """

    name: str
    role: str
    attempt: str
    index: int = 0
    tasks: int = 1
    ready: int = 0
    created: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    models: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim that pods of a training name. `phase` is `Missing` when there is none of that name.

    `owner` is the release and the chart's name that its labels say.
    """

    name: str
    phase: str
    storage_class: str = ""
    size: str = ""
    modes: tuple[str, ...] = ()
    volume: str = ""
    created: datetime | None = None
    owner: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Event:
    """An event on an object, or several alike: `count` times up to `at`."""

    kind: str
    name: str
    reason: str
    message: str
    is_warning: bool = True
    count: int = 1
    at: datetime | None = None
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True)
class Node:
    """A node of the cluster: what pods may ask of it, and why they might not be put on it."""

    name: str
    allocatable: dict[str, float] = field(default_factory=dict)
    capacity: dict[str, float] = field(default_factory=dict)
    is_ready: bool = True
    is_unschedulable: bool = False
    taints: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class StorageClass:
    """A StorageClass."""

    name: str
    provisioner: str
    is_default: bool = False
    binds_late: bool = False


@dataclass(frozen=True)
class Quota:
    """A ResourceQuota: amounts by resource, as Kubernetes spells them."""

    name: str
    namespace: str = ""
    hard: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """The newest record that Helm keeps of a release: `deployed`, `failed`, `pending-upgrade`."""

    namespace: str
    name: str
    status: str
    revision: int = 0
    created: datetime | None = None


@dataclass(frozen=True)
class Training:
    """All that belongs to one training: a Helm release, or what Argo CD made of the chart.

    `chart` is the value of app.kubernetes.io/name, which tells two subcharts of a release apart.
    `managed_by` is `helm`, `argocd:APPLICATION`, or empty where nobody says.
    """

    namespace: str
    name: str
    chart: str
    managed_by: str = ""
    jobs: tuple[Job, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    pods: tuple[Pod, ...] = ()
    claims: tuple[Claim, ...] = ()

    def attempts(self) -> list[str]:
        """Hashes of its attempts, the newest first."""
        first: dict[str, datetime] = {}
        every: list[Job | Deployment] = [*self.jobs, *self.deployments]
        for made in every:
            if made.attempt and made.created:
                first[made.attempt] = min(made.created, first.get(made.attempt, made.created))
        return sorted(first, key=lambda attempt: (first[attempt], attempt), reverse=True)

    @property
    def attempt(self) -> str:
        """The newest attempt; empty when only its pods are left."""
        return next(iter(self.attempts()), "")

    def clients(self) -> list[Job]:
        """The Jobs that end the training: of each attempt the chief's or workers', newest first.

        An attempt that was made half may have none.
        """
        found = []
        for attempt in self.attempts():
            of_attempt = {job.role: job for job in self.jobs if job.attempt == attempt}
            found += [of_attempt[role] for role in CLIENTS if role in of_attempt][:1]
        return found

    def client(self) -> Job | None:
        """The newest of them."""
        return next(iter(self.clients()), None)

    def client_pods(self) -> list[Pod]:
        """The client's pods, the newest first: all that its Job still has."""
        client = self.client()
        if client is None:
            return []
        mine = [pod for pod in self.pods if pod.owner == client.name and pod.index == 0]
        return sorted(mine, key=lambda pod: (str(pod.created), pod.name), reverse=True)

    def pods_of(self, attempt: str) -> Iterator[Pod]:
        """The pods of an attempt."""
        return (pod for pod in self.pods if pod.attempt == attempt)


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment, seen from one namespace or all.

    What could not be read, and the permission that is missing, stands in `unread`. `servers` are
    the releases that serve models: to the doctor they are like trainings without an attempt.
    """

    at: datetime
    trainings: tuple[Training, ...] = ()
    events: tuple[Event, ...] = ()
    nodes: tuple[Node, ...] = ()
    classes: tuple[StorageClass, ...] = ()
    quotas: tuple[Quota, ...] = ()
    releases: tuple[Release, ...] = ()
    unread: tuple[str, ...] = ()
    version: str = ""
    servers: tuple[Training, ...] = ()
