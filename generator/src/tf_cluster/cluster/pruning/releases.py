"""Which releases a prune takes, and why the others stay: from a snapshot, without a look."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.reading import ARGO_CD
from tf_cluster.cluster.snapshot import Release, Training
from tf_cluster.cluster.state import state_of, waits_for
from tf_cluster.cluster.text import span

HELM = "helm"
FAILURES = ("failed", "stopped")
"""Ends that somebody may still look at, or go on from."""
KEPT = "keep"
PAGES = ("tensorboard", "notebook")
"""The components that serve a page of a release, whether its training runs or not."""
_KEEP_POLICY = "helm.sh/resource-policy"
_CLAIM = "PersistentVolumeClaim"
_WORKLOADS = {
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
}
_TAKEN_ALONG = {
    "ConfigMap",
    "Ingress",
    "HTTPRoute",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PodGroup",
    "PodMonitor",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
}
"""Kinds that a release of trainings has beside its tasks, and that nobody misses without them."""


@dataclass(frozen=True)
class Terms:
    """What a prune was told: both `older` (seconds) and `keep` have to hold, where given."""

    older: int | None = None
    keep: int | None = None
    failed: bool = False
    pages: bool = False


@dataclass(frozen=True)
class Ending:
    """A training of a release: its end, as `list` calls it, or empty while it goes on.

    `client` is its newest Job that says so. `made` are the names of all its Jobs and Deployments:
    they change with every attempt.
    """

    chart: str
    status: str
    client: str
    made: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """A release, and whether it goes. `why` says what keeps it; empty where nothing does."""

    namespace: str
    name: str
    endings: tuple[Ending, ...]
    ended: datetime | None = None
    revision: int = 0
    why: str = ""

    @property
    def goes(self) -> bool:
        """Whether nothing keeps it."""
        return not self.why

    @property
    def statuses(self) -> str:
        """`done`, or several where its trainings ended in several ways; empty while one goes on."""
        found = {one.status for one in self.endings}
        return "" if "" in found else ", ".join(sorted(found))


def planned(
    trainings: Iterable[Training], releases: Iterable[Release], now: datetime, terms: Terms
) -> tuple[Verdict, ...]:
    """A verdict on each release that holds a training, by namespace and name.

    `--keep` counts, in each namespace, those that nothing but the terms keeps.
    """
    known = {(one.namespace, one.name): one for one in releases}
    groups: defaultdict[tuple[str, str], list[Training]] = defaultdict(list)
    for one in trainings:
        groups[one.namespace, one.name].append(one)
    judged = [judged_alone(groups[key], known.get(key), terms) for key in sorted(groups)]
    newest: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in sorted(filter(_may_go, judged), key=_newest_first):
        newest[verdict.namespace].append(verdict)
    kept = {
        (one.namespace, one.name) for some in newest.values() for one in some[: terms.keep or 0]
    }
    return tuple(_by_terms(one, kept, now, terms) for one in judged)


def judged_alone(some: Sequence[Training], record: Release | None, terms: Terms) -> Verdict:
    """The verdict on the trainings of one release, whatever others there are and however old."""
    first = some[0]
    trainings = sorted(some, key=lambda one: one.chart)
    verdict = Verdict(
        namespace=first.namespace,
        name=first.name,
        endings=tuple(
            Ending(
                chart=one.chart,
                status="" if _goes_on(one) else state_of(one).status,
                client=client.name if (client := one.client()) else "",
                made=(*(job.name for job in one.jobs), *(ps.name for ps in one.deployments)),
            )
            for one in trainings
        ),
        ended=_end(trainings),
        revision=record.revision if record else 0,
    )
    return replace(verdict, why=_kept_by(verdict, trainings, record, terms))


def held_to_manifest(
    verdict: Verdict, objects: Iterable[Mapping[str, Any]], terms: Terms
) -> Verdict:
    """The verdict after a look at what Helm would remove with the release.

    It stays where that is a claim, what may serve, what is no part of a training, or not its Jobs.
    """
    if not verdict.goes:
        return verdict
    names = set()
    for one in objects:
        metadata = _metadata(one)
        kind, name = str(one.get("kind")), str(metadata.get("name"))
        if kind == "Job":
            names.add(name)
        if owner := (metadata.get("labels") or {}).get(labels.FLUX):
            return replace(verdict, why=f"Flux manages it: HelmRelease {owner}")
        if why := _not_removed(one, terms):
            return replace(verdict, why=f"{kind.lower()}/{name} {why}")
    if missing := sorted({one.client for one in verdict.endings} - names):
        return replace(verdict, why=f"{missing[0]} is not in Helm's release: who made it?")
    return verdict


def held_to_now(
    verdict: Verdict, some: Sequence[Training], record: Release | None, terms: Terms
) -> Verdict:
    """The verdict after a second look, just before the release goes."""
    if not some:
        return replace(verdict, why="it is gone: somebody else removed it")
    again = judged_alone(some, record, terms)
    if not again.goes:
        return again
    if again != verdict:
        return replace(again, why="it was changed while the plan was looked at")
    return again


def _kept_by(
    verdict: Verdict, trainings: Sequence[Training], record: Release | None, terms: Terms
) -> str:
    """What keeps a release whatever its age; empty where nothing does."""
    for one in trainings:
        if one.managed_by.startswith(ARGO_CD):
            return f"Argo CD manages it: Application {one.managed_by.removeprefix(ARGO_CD)}"
        if one.managed_by != HELM:
            return "its objects were not made by Helm"
    for one in trainings:
        if why := _goes_on(one):
            return why
    if verdict.ended is None:
        return "when it ended is not known"
    for ending in verdict.endings:
        if ending.status in FAILURES and not terms.failed:
            return f"it {_in_words(ending.status)}: --failed takes such, too"
    if record is None:
        return "Helm has no release of this name here"
    if record.status == "failed":
        return "" if terms.failed else "its last helm upgrade failed: --failed takes such, too"
    if record.status == "uninstalling":
        return f"an uninstall of it has begun: helm uninstall {record.name}, if nobody is at it"
    return "" if record.status == "deployed" else f"Helm is at work on it: {record.status}"


def _goes_on(training: Training) -> str:
    """What of a training runs, waits or serves; empty when all of it has ended."""
    if not training.clients():
        return "it serves" if training.deployments else "it has no Job that says how it ended"
    for job in training.jobs:
        if not job.has_ended:
            return f"{job.name} {'is suspended' if job.is_suspended else 'has not ended'}"
    for pod in training.pods:
        if not pod.has_ended:
            waits = waits_for(pod) if pod.phase == "Pending" else ""
            return f"{pod.name} {f'waits: {waits}' if waits else 'has not ended'}"
    for one in training.deployments:
        if one.tasks:
            return f"{one.name} is not scaled to 0"
    return ""


def _end(trainings: Iterable[Training]) -> datetime | None:
    """When the last Job of all ended; None while one goes on, or where one does not say it."""
    ends = [job.ended for one in trainings for job in one.jobs]
    known = [end for end in ends if end]
    return max(known) if known and len(known) == len(ends) else None


def _in_words(status: str) -> str:
    return "was stopped" if status == "stopped" else status


def _may_go(verdict: Verdict) -> bool:
    return verdict.goes


def _newest_first(verdict: Verdict) -> tuple[float, str]:
    assert verdict.ended is not None
    return (-verdict.ended.timestamp(), verdict.name)


def _by_terms(verdict: Verdict, kept: set[tuple[str, str]], now: datetime, terms: Terms) -> Verdict:
    if not verdict.goes or verdict.ended is None:
        return verdict
    if (verdict.namespace, verdict.name) in kept:
        return replace(verdict, why=f"one of the newest {terms.keep}: --keep")
    age = (now - verdict.ended).total_seconds()
    if terms.older is not None and age < terms.older:
        return replace(verdict, why=f"it ended {span(age)} ago: --older {span(terms.older)}")
    return verdict


def _metadata(one: Mapping[str, Any]) -> Mapping[str, Any]:
    found = one.get("metadata")
    return found if isinstance(found, Mapping) else {}


def _not_removed(one: Mapping[str, Any], terms: Terms) -> str:
    """Why an object of a release keeps all of it; empty where it may go or Helm leaves it."""
    metadata, kind = _metadata(one), one.get("kind")
    marks = metadata.get("labels") or {}
    if (metadata.get("annotations") or {}).get(_KEEP_POLICY) == KEPT:
        return ""
    if kind == _CLAIM:
        return "would go with it, and what it holds: it has no policy to keep it"
    if kind in _WORKLOADS:
        if labels.ATTEMPT in marks:
            return ""
        if marks.get(labels.COMPONENT) in PAGES:
            return "" if terms.pages else "serves a page: --pages takes such, too"
        return "is no part of a training, and may serve"
    return "" if kind in _TAKEN_ALONG else "is no part of a training"
