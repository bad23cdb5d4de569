"""What a rule sees: one training in its cluster."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property

from tf_cluster.cluster.events import events_of
from tf_cluster.cluster.serving.servers import Model, models_of
from tf_cluster.cluster.snapshot import (
    Condition,
    Deployment,
    Event,
    Job,
    Node,
    Pod,
    Snapshot,
    Training,
)
from tf_cluster.exits import RefusedError

MADE_BY_A_CONTROLLER = ("Job", "ReplicaSet")
LOG_SECONDS = 3600.0


@dataclass(frozen=True)
class View:
    """A training and the snapshot that it is in."""

    training: Training
    snapshot: Snapshot

    @property
    def now(self) -> datetime:
        """When the snapshot was taken."""
        return self.snapshot.at

    @property
    def namespace(self) -> str:
        """The training's namespace, as kubectl takes it."""
        return self.training.namespace

    def seconds_since(self, at: datetime | None) -> float:
        """Seconds from a time to the snapshot; 0 where the time is not known."""
        return (self.now - at).total_seconds() if at else 0.0

    def pods(self) -> Iterator[Pod]:
        """The pods of the newest attempt that have not ended and are not being deleted."""
        for pod in self.training.pods_of(self.training.attempt):
            if not pod.has_ended and pod.deleted is None:
                yield pod

    def pending(self) -> Iterator[tuple[Pod, Condition]]:
        """The pods that no node has taken, and what the scheduler says."""
        for pod in self.pods():
            scheduled = pod.condition("PodScheduled")
            if not pod.node and scheduled and scheduled.status == "False":
                yield pod, scheduled

    def jobs(self) -> Iterator[Job]:
        """The Jobs of the newest attempt."""
        return (job for job in self.training.jobs if job.attempt == self.training.attempt)

    def deployments(self) -> Iterator[Deployment]:
        """The Deployments of the newest attempt."""
        return (one for one in self.training.deployments if one.attempt == self.training.attempt)

    def models(self) -> Iterator[tuple[Deployment, Model]]:
        """The models of servers with their Deployments; not those of another chart's version."""
        for one in self.deployments():
            with suppress(RefusedError):
                for model in models_of(one.name, one.models) if one.models else ():
                    yield one, model

    def relevant(self) -> Iterator[Pod]:
        """The pods of the newest attempt whose ends still matter.

        A Job keeps pods that failed. Of a task whose newest pod is ready, or of a training that is
        done, they are over.
        """
        by_task: dict[str, list[Pod]] = {}
        for pod in self.training.pods_of(self.training.attempt):
            by_task.setdefault(pod.task, []).append(pod)
        for pods in by_task.values():
            pods.sort(key=lambda pod: (str(pod.created), pod.name), reverse=True)
            newest = pods[0]
            if not newest.is_ready and not self.is_done():
                yield from pods
            elif not newest.has_ended:
                yield newest

    def is_done(self) -> bool:
        """Whether the training has ended well."""
        client = self.training.client()
        return client is not None and client.condition("Complete") is not None

    def log(self, pod: Pod) -> list[str]:
        """The lines of its log of the last LOG_SECONDS: what older ones say is over."""
        return [
            line
            for line in pod.log
            if (at := log_time(line)) and self.seconds_since(at) <= LOG_SECONDS
        ]

    def events(self, *reasons: str) -> Iterator[Event]:
        """The warnings of these reasons on objects of the newest attempt, the newest first."""
        return (event for event in self._warnings if event.reason in reasons)

    @cached_property
    def _warnings(self) -> tuple[Event, ...]:
        made = {job.name for job in self.jobs()} | {one.name for one in self.deployments()}
        whole = made | {pod.name for pod in self.training.pods_of(self.training.attempt)}
        of_it = tuple(f"{name}-" for name in made)
        found = [
            event
            for event in events_of(self.training, self.snapshot.events)
            if event.is_warning and (event.name in whole or event.name.startswith(of_it))
        ]
        return tuple(reversed(found))

    def refusals(self) -> Iterator[Event]:
        """The newest event that a pod could not be made, of each object that still lacks pods."""
        told = set()
        for event in self.events("FailedCreate"):
            if event.kind in MADE_BY_A_CONTROLLER and event.name not in told:
                told.add(event.name)
                if self._lacks_pods(event):
                    yield event

    def pod_events(self, pod: Pod, *reasons: str) -> Iterator[Event]:
        """The warnings of these reasons on a pod, the newest first."""
        for event in self.events(*reasons):
            if event.kind == "Pod" and event.name == pod.name:
                yield event

    def node(self, name: str) -> Node | None:
        """A node of the cluster."""
        return next((node for node in self.snapshot.nodes if node.name == name), None)

    def client_has_ended(self) -> bool:
        """Whether the Job that ends the training has ended."""
        client = self.training.client()
        return client is not None and client.has_ended

    def _lacks_pods(self, event: Event) -> bool:
        """Whether the object has fewer pods than it should, and none was made since the event."""
        since = [
            pod
            for pod in self.training.pods
            if pod.owner == event.name and pod.created and event.at and pod.created > event.at
        ]
        if since:
            return False
        for job in self.jobs():
            if job.name == event.name:
                return not job.has_ended and job.active + job.succeeded < job.tasks
        for deployment in self.deployments():
            if event.name.startswith(f"{deployment.name}-"):
                pods = [pod for pod in self.pods() if pod.owner == event.name]
                return len(pods) < deployment.tasks
        return False


def log_time(line: str) -> datetime | None:
    """The time that a line of a pod's `log` begins with."""
    try:
        return datetime.strptime(line[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def about(pod: Pod) -> str:
    """A pod as a finding names it."""
    return f"pod/{pod.name}"


def about_event(event: Event) -> str:
    """The object of an event as a finding names it."""
    return f"{event.kind.lower()}/{event.name}"
