"""Installs or upgrades a training, and waits until its pods are there to be counted."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.connection import Connection
from tf_cluster.cluster.ending import refuse_argo_cd
from tf_cluster.cluster.helm import Helm
from tf_cluster.cluster.mutex import Mutex
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.reading import manager, releases, trainings
from tf_cluster.cluster.snapshot import Release
from tf_cluster.exits import RefusedError
from tf_cluster.planning.plan import Plan

CHART = (Path(__file__).parents[1] / "chart").resolve()
"""The chart that this tool was made for. In a checkout a link leads to it."""
_FIRST_LOOK, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds from the first look at the pods to the second, and at most from one to the next."""
_SCHEDULER_SECONDS = 15.0
_GROUPS = {"jobs": "batch/v1", "deployments": "apps/v1"}
_PENDING = "pending-"


@dataclass(frozen=True)
class Made:
    """Pods of an attempt: how many there are, of how many that will be.

    `held_back`: a queue holds Jobs back, and decides when there will be pods.
    """

    there: int = 0
    of: int = 0
    held_back: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every pod is counted from now on, or somebody else counts them."""
        return self.held_back or self.there >= self.of

    def __add__(self, other: "Made") -> "Made":
        held_back = self.held_back or other.held_back
        return Made(self.there + other.there, self.of + other.of, held_back)


class Outcome(str, Enum):
    """What became of a training that was to be submitted."""

    SUBMITTED = "submitted"
    DOES_NOT_FIT = "doesNotFit"
    FAILED = "failed"
    NOT_TRIED = "notTried"


@dataclass(frozen=True)
class Submission:
    """A training that was to be submitted, and what became of it.

    `made`: its pods, or None where they were not counted. `why`: in words, where that says more
    than the outcome; may be empty.
    """

    file: str
    namespace: str
    name: str
    attempt: str
    outcome: Outcome = Outcome.NOT_TRIED
    made: Made | None = None
    why: str = ""


def refuse_others(cluster: Cluster, plan: Plan) -> None:
    """Refuse what Argo CD manages, and a release of which Helm would remove other charts' objects.

    Raises RefusedError.
    """
    name, chart = plan.release.name, plan.release.identity[labels.NAME]
    for kind, objects in (("job", cluster.jobs), ("deployment", cluster.deployments)):
        for one in objects:
            metadata = one["metadata"]
            marks, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
            if marks.get(labels.INSTANCE) == name:
                refuse_argo_cd(name, manager(notes), "change")
            is_ours = (marks.get(labels.INSTANCE), marks.get(labels.NAME)) == (name, chart)
            if notes.get(labels.HELM_RELEASE) == name and not is_ours:
                raise RefusedError(
                    f"release {name} has {kind}/{metadata['name']}, which is not of this training, "
                    "and Helm would remove it: name the training otherwise (--release)"
                )


def stuck_release(connection: Connection, name: str) -> Release | None:
    """The release, if helm was killed in the middle of its work; so helm refuses to go on."""
    found = releases(connection, connection.namespace, name)
    return next((one for one in found if one.status.startswith(_PENDING)), None)


def mend_release(helm: Helm, stuck: Release, mutex: Mutex) -> None:
    """Take back what helm has begun: go back to the newest revision that was whole, else remove it.

    Claims stay. Raises RefusedError.
    """
    whole = helm.newest_whole(stuck.name)
    words = ("rollback", stuck.name, str(whole)) if whole else ("uninstall", stuck.name)
    helm.run(*words, is_over=lambda: mutex.is_lost)


def install(helm: Helm, plan: Plan, values: Path, chart: str, mutex: Mutex) -> None:
    """Have helm install or upgrade the release. Raises RefusedError, LostError."""
    mutex.hold()
    words = ("upgrade", plan.release.name, chart, "--install", f"--values={values}")
    try:
        helm.run(*words, is_over=lambda: mutex.is_lost)
    except RefusedError:
        mutex.hold()
        raise
    mutex.hold()


def await_pods(connection: Connection, plan: Plan, seconds: float, mutex: Mutex) -> Made:
    """Wait until every pod of the attempt has been made, so that others count it.

    Pods that are refused never come: then what there is after so many seconds. Jobs and Deployments
    say how many they have made, so a look is a request or two, not one for each pod; and the next
    look comes when all would be there, made as quickly as those before. Raises ClusterError,
    LostError.
    """
    began = time.monotonic()
    pause = _FIRST_LOOK
    made = {"deployments": Made(0, 1), "jobs": Made(0, 1)}
    while True:
        for kind, there in made.items():
            if not there.is_whole:
                made[kind] = _made(connection, plan, kind)
            if not made[kind].is_whole:
                break
        spent = time.monotonic() - began
        if all(one.is_whole for one in made.values()) or spent > seconds:
            return made["jobs"] + made["deployments"]
        pause = next_pause(made.values(), spent, pause)
        _sleep(min(pause, seconds - spent), mutex)


def next_pause(made: Collection[Made], spent: float, last: float) -> float:
    """Seconds until all pods would be there, if they are made as quickly as in the `spent` ones.

    At most twice the `last` pause: a controller may not have begun yet, or make them in bursts.
    """
    there, of = sum(one.there for one in made), sum(one.of for one in made)
    left = spent * (of - there) / there if there else _LONGEST_PAUSE
    return max(_FIRST_LOOK, min(left, 2 * last, _LONGEST_PAUSE))


def _sleep(seconds: float, mutex: Mutex) -> None:
    """Sleep, but notice soon that the lock is lost. Raises LostError."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        mutex.hold()
        time.sleep(min(left, _FIRST_LOOK))
    mutex.hold()


def _made(connection: Connection, plan: Plan, kind: str) -> Made:
    """The pods of the attempt's objects of a kind, as these say themselves."""
    namespace, group = connection.namespace, _GROUPS[kind]
    found = connection.items(
        f"list {kind} in namespace {namespace}",
        f"/apis/{group}/namespaces/{namespace}/{kind}",
        {"labelSelector": f"{labels.INSTANCE}={plan.release.name}"},
        {"Accept": "application/json"},
    )
    pages = {plan.release.page(role) for role in plan.release.pages}
    whole, is_there = Made(), kind == "deployments" and not plan.release.ps_count and not pages
    for one in found:
        metadata = one["metadata"]
        attempt = (metadata.get("labels") or {}).get(labels.ATTEMPT)
        if attempt == plan.names.attempt or metadata["name"] in pages:
            whole += (_of_job if kind == "jobs" else _of_deployment)(one)
            is_there = True
    return whole if is_there else Made(0, 1)


def _of_job(job: Any) -> Made:
    spec, status = job["spec"], job.get("status") or {}
    wanted = int(spec.get("parallelism", 1))
    ended = any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True"
        for one in status.get("conditions") or ()
    )
    counted = sum(int(status.get(key) or 0) for key in ("active", "succeeded", "failed"))
    there = wanted if ended else min(wanted, counted)
    return Made(there, wanted, bool(spec.get("suspend")))


def _of_deployment(deployment: Any) -> Made:
    wanted, status = int(deployment["spec"].get("replicas", 1)), deployment.get("status") or {}
    is_old = int(status.get("observedGeneration") or 0) < int(deployment["metadata"]["generation"])
    return Made(0 if is_old else min(wanted, int(status.get("updatedReplicas") or 0)), wanted)


def waiting_trainings(connection: Connection, but: str) -> list[str]:
    """The other trainings here with pods that were refused a node. Raises ClusterError.

    Pods that the scheduler has not looked at yet are given some seconds.
    """
    until = time.monotonic() + _SCHEDULER_SECONDS
    while True:
        refused: dict[str, None] = {}
        undecided = False
        for one in trainings(connection, connection.namespace).trainings:
            for pod in one.pods if one.name != but else ():
                if pod.node or pod.has_ended or pod.deleted:
                    continue
                scheduled = pod.condition("PodScheduled")
                undecided = undecided or scheduled is None
                if scheduled is not None and scheduled.status == "False":
                    refused.setdefault(one.name)
        if not undecided or time.monotonic() > until:
            return list(refused)
        time.sleep(_FIRST_LOOK)
