"""A Job of the trainer's image, mostly on claims: what it does there, and what it printed.

`prune runs` and the verbs of serving have theirs here.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lightkube import ApiError
from lightkube.resources.batch_v1 import Job as ApiJob
from lightkube.types import CascadeType

from tf_cluster.cluster import labels
from tf_cluster.cluster.connection import AbsentError, ClusterError, Connection, ForbiddenError
from tf_cluster.cluster.reading import events, pods_of_job
from tf_cluster.cluster.snapshot import Container, Pod
from tf_cluster.cluster.state import waits_for
from tf_cluster.cluster.workloads import (
    LOG,
    Object,
    claims_of,
    containers,
    directory,
    has_ended,
    pod_spec,
)
from tf_cluster.exits import RefusedError
from tf_cluster.printable import cut

QUICK_SECONDS, QUICK_LOOK_SECONDS, LOOK_SECONDS = 15.0, 0.25, 1.0
"""In its first 15 s a Job, or its removal, is looked at four times a second, since most are through
by then and a user waits; then once a second."""
NEED_SECONDS = 5.0
"""Between two looks whether a Job is still needed."""
TELL_SECONDS = 20.0
GONE_SECONDS = 60.0
GRACE_SECONDS = 60
"""So long after the tool gives a Job up, Kubernetes ends one that the tool could not remove."""
KEPT_SECONDS = 3600
"""After which Kubernetes removes a Job that this tool could not remove."""
LONGEST = 400
AT_WORK = "it is at work"
# What the chart sets, for a claim whose training is gone.
POD_SECURITY: Object = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "fsGroup": 1000,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY: Object = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
RESOURCES: Object = {
    "requests": {"cpu": "20m", "memory": "64Mi"},
    "limits": {"memory": "512Mi"},
}
FILES = "/request"
"""Where a Job finds the texts that it was given."""
_NOTE = "tf-cluster.io/file-"
FROM_POD = ("serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations")


@dataclass(frozen=True)
class Place:
    """Where runs are, and the pod that looks at them: what a training's own pods have.

    `claim` is empty where it looks at none.
    """

    namespace: str
    claim: str
    image: str
    sub_path: str = ""
    pod: Object = field(default_factory=dict)
    pod_security: Object = field(default_factory=lambda: POD_SECURITY)
    security: Object = field(default_factory=lambda: CONTAINER_SECURITY)
    pull_policy: str = "IfNotPresent"
    node: str = ""

    @property
    def secrets(self) -> Object:
        """What its image is pulled with."""
        name = "imagePullSecrets"
        return {name: self.pod[name]} if name in self.pod else {}


@dataclass(frozen=True)
class Mount:
    """A claim, or a directory of it, in the Job's pod."""

    claim: str
    path: str = LOG
    sub_path: str = ""
    may_write: bool = False


@dataclass(frozen=True)
class Errand:
    """What a Job does: commands of the trainer, each in a container, one after the other.

    `what` names it in errors, as the verb does: `prune runs`. `files` are texts by name, which the
    pod finds in FILES; they travel as its annotations, 256 KiB at most together. `late` is said
    where it is still at work when its time is over.
    """

    component: str
    what: str
    commands: tuple[tuple[str, ...], ...]
    mounts: tuple[Mount, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    resources: Object = field(default_factory=lambda: RESOURCES)
    late: str = "a longer --timeout lets it end"


@dataclass(frozen=True)
class TrainingsPlace:
    """The place of the runs of a training that is installed, their directory there, and a run."""

    release: str
    chart: str
    directory: str
    place: Place
    run: str = ""


def trainings_places(namespace: str, found: Iterable[tuple[str, Object]]) -> list[TrainingsPlace]:
    """Those of all trainings, the newest first."""
    made = []
    for kind, one in found:
        metadata = one.get("metadata") or {}
        marks = metadata.get("labels") or {}
        own, place = directory(kind, one), place_of(namespace, pod_spec(kind, one))
        if kind in ("job", "deployment") and labels.ATTEMPT in marks and own and place:
            release, chart = marks.get(labels.INSTANCE, ""), marks.get(labels.NAME, "")
            at = str(metadata.get("creationTimestamp"))
            made.append((at, TrainingsPlace(release, chart, own[0], place, own[1])))
    made.sort(key=lambda one: one[0], reverse=True)
    return [one for _, one in made]


def place_of(namespace: str, spec: Object) -> Place | None:
    """The place that the pods of a training have; None where they mount no claim at /log."""
    claims = claims_of(spec)
    for one in containers(spec):
        for mount in one.get("volumeMounts") or ():
            if mount.get("mountPath") == LOG and mount.get("name") in claims:
                return Place(
                    namespace=namespace,
                    claim=claims[mount["name"]],
                    image=str(one.get("image") or ""),
                    sub_path=str(mount.get("subPath") or ""),
                    pod={name: spec[name] for name in FROM_POD if spec.get(name)},
                    pod_security=spec.get("securityContext") or {},
                    security=one.get("securityContext") or {},
                    pull_policy=str(one.get("imagePullPolicy") or "IfNotPresent"),
                )
    return None


def place_for(known: Sequence[TrainingsPlace], namespace: str, claim: str) -> Place:
    """The place of a claim: a training's that has it, else the chart's, with an image from here.

    Its image is empty where no training in the namespace has one.
    """
    for one in known:
        if one.place.claim == claim:
            return one.place
    if not known:
        return Place(namespace, claim, "")
    return Place(namespace, claim, known[0].place.image, pod=known[0].place.secrets)


def node_of(found: Iterable[tuple[str, Object]], claim: str) -> str:
    """The one node whose pods mount a claim now; empty where it is none, or several."""
    nodes = {
        str(pod_spec(kind, one).get("nodeName"))
        for kind, one in found
        if kind == "pod" and not has_ended(kind, one)
        if claim in claims_of(pod_spec(kind, one)).values() and pod_spec(kind, one).get("nodeName")
    }
    return nodes.pop() if len(nodes) == 1 else ""


def job(place: Place, name: str, errand: Errand, seconds: int) -> Object:
    """The Job's manifest. It ends by itself after `seconds`, and goes some time after its end."""
    marks = {
        "app.kubernetes.io/managed-by": "tf-cluster",
        labels.COMPONENT: errand.component,
        **errand.marks,
    }
    volumes: list[Object] = []
    names: dict[str, str] = {}
    mounts: list[Object] = []
    for one in errand.mounts:
        if one.claim not in names:
            names[one.claim] = one.path.strip("/")
            claim = {"claimName": one.claim}
            volumes.append({"name": names[one.claim], "persistentVolumeClaim": claim})
        mount: dict[str, Any] = {"name": names[one.claim], "mountPath": one.path}
        mount |= {} if one.may_write else {"readOnly": True}
        mount |= {"subPath": one.sub_path} if one.sub_path else {}
        mounts.append(mount)
    volumes.append({"name": "tmp", "emptyDir": {}})
    mounts.append({"name": "tmp", "mountPath": "/tmp"})
    if errand.files:
        items = [
            {"path": file, "fieldRef": {"fieldPath": f"metadata.annotations['{_NOTE}{file}']"}}
            for file in errand.files
        ]
        volumes.append({"name": "files", "downwardAPI": {"items": items}})
        mounts.append({"name": "files", "mountPath": FILES, "readOnly": True})
    *first, last = (
        {
            "name": name,
            "image": place.image,
            "imagePullPolicy": place.pull_policy,
            "args": [*words],
            "env": [{"name": "HOME", "value": "/tmp"}],
            "resources": errand.resources,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "securityContext": place.security,
            "volumeMounts": mounts,
        }
        for name, words in zip(_container_names(errand), errand.commands, strict=True)
    )
    pod: dict[str, Any] = {
        **place.pod,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 10,
        "securityContext": place.pod_security,
        **({"initContainers": first} if first else {}),
        "containers": [last],
        "volumes": volumes,
    }
    if place.node:
        field_is = {"key": "metadata.name", "operator": "In", "values": [place.node]}
        pod["affinity"] = {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "preference": {"matchFields": [field_is]}}
                ]
            }
        }
    notes = {f"{_NOTE}{file}": text for file, text in errand.files.items()}
    of_pod = {"labels": marks, **({"annotations": notes} if notes else {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": place.namespace, "labels": marks},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds + GRACE_SECONDS,
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {"metadata": of_pod, "spec": pod},
        },
    }


def _container_names(errand: Errand) -> list[str]:
    """The last is the pod's main container."""
    first = range(1, len(errand.commands))
    return [*(f"{errand.component}-{number}" for number in first), errand.component]


Documents = list[Mapping[str, Any]]


class NeedlessError(Exception):
    """A Job was ended before its end: its answer is not needed any more."""


def said_by_job(
    connection: Connection,
    place: Place,
    errand: Errand,
    seconds: int,
    tell: Callable[[str], None],
    is_needed: Callable[[], bool] = lambda: True,
) -> list[Documents]:
    """Run an errand, and give the documents that each of its commands printed, the last at the end.

    Where a command ends badly, and says in a document why, no later one has run. The Job and its
    pod are gone afterwards, however it ends. Raises RefusedError when it does not end well within
    `seconds`, NeedlessError when it is not needed any more, and ClusterError.
    """
    name = f"{errand.component}-{uuid.uuid4().hex[:10]}"
    manifest: Any = ApiJob.from_dict(dict(job(place, name, errand, seconds)))
    what = f"create job {name} in namespace {place.namespace}"
    is_made = True  # for all that is known
    try:
        try:
            connection.ask(what, lambda: _created(connection, manifest))
        except ForbiddenError:
            is_made = False
            raise
        pod = _ended(connection, place, errand, name, seconds, tell, is_needed)
        return _documents(connection, place, errand, pod)
    except KeyboardInterrupt:
        _tell_so_far(connection, place, name, tell)
        raise
    finally:
        if is_made:
            _remove(connection, place.namespace, name, tell)


def _created(connection: Connection, manifest: ApiJob) -> None:
    """Create a Job; one of this name is ours, made by a request whose answer was lost."""
    try:
        connection.client.create(manifest)
    except ApiError as error:
        if error.status.code != 409:
            raise


def _ended(
    connection: Connection,
    place: Place,
    errand: Errand,
    name: str,
    seconds: int,
    tell: Callable[[str], None],
    is_needed: Callable[[], bool],
) -> Pod:
    """The Job's pod, when it has ended. Raises RefusedError in time, NeedlessError."""
    began = time.monotonic()
    told, said_at, needed_at = "", began, began
    where = f"claim {place.claim}" if place.claim else errand.what
    while True:
        pods = pods_of_job(connection, place.namespace, name)
        pod = pods[0] if pods else None
        if pod is not None and pod.has_ended:
            return pod
        why = _why_not_yet(pod)
        now = time.monotonic()
        if now - began > seconds:
            more = _warnings(connection, place.namespace, name, pod)
            if why == AT_WORK:
                more = errand.late
            raise RefusedError(
                f"{name} has not ended within {seconds} s: {why}{f': {more}' if more else ''}"
            )
        if why not in (told, AT_WORK) and now - said_at > TELL_SECONDS:
            more = _warnings(connection, place.namespace, name, pod)
            tell(f"{where}: {why}{f': {more}' if more else ''}")
            told, said_at = why, now
        if now - needed_at > NEED_SECONDS:
            if not is_needed():
                raise NeedlessError
            needed_at = now
        _wait_for_a_look(began)


def _why_not_yet(pod: Pod | None) -> str:
    if pod is None:
        return "its pod is not made"
    # A pod is Pending until its last container runs.
    if pod.phase != "Pending" or any(one.is_running or one.ended for one in pod.containers):
        return AT_WORK
    if not pod.node:
        return f"its pod has no node: {waits_for(pod)}"
    return f"its pod waits on node {pod.node}: {waits_for(pod) or 'for its volume or its image'}"


def _warnings(connection: Connection, namespace: str, name: str, pod: Pod | None) -> str:
    """The newest warning on a Job or its pod: why a volume is not mounted, or a pod not made."""
    about = {name, pod.name if pod else name}
    with suppress(ClusterError):
        found = [one for one in events(connection, namespace) if one.name in about]
        warnings = [one for one in found if one.is_warning]
        if warnings:
            return cut(f"{warnings[-1].reason}: {warnings[-1].message}", LONGEST)
    return ""


def _documents(connection: Connection, place: Place, errand: Errand, pod: Pod) -> list[Documents]:
    """What each command printed, up to the first that ended badly. Raises RefusedError."""
    by_name = {one.name: one for one in pod.containers}
    found: list[Documents] = []
    for name in _container_names(errand):
        one = by_name.get(name)
        if found and (one is None or one.ended is None):
            break
        lines = _lines(connection, place.namespace, pod.name, name)
        documents = [each for each in map(_document, lines) if each is not None]
        if not documents or not _is_answer(documents[-1]):
            raise RefusedError(_no_answer(place, errand, pod, one, lines))
        if "error" in documents[-1]:
            raise RefusedError(str(documents[-1]["error"]))
        found.append(documents)
    return found


def _is_answer(document: Mapping[str, Any]) -> bool:
    return bool({"format", "version", "error"} & document.keys())


def _no_answer(
    place: Place, errand: Errand, pod: Pod, container: Container | None, lines: Sequence[str]
) -> str:
    ended = container.ended if container else None
    told = "; ".join(line for line in lines if line.strip())
    if "there is no command" in told:
        return (
            f"image {place.image} can't {errand.what}: it is of an older trainer; name a newer one "
            "with --image"
        )
    how = f"exit code {ended.exit_code} {ended.reason}" if ended else pod.reason or "no end known"
    where = f"the look at claim {place.claim}" if place.claim else f"the Job to {errand.what}"
    return f"{where} failed ({how}): {cut(told, LONGEST)}"


def _lines(connection: Connection, namespace: str, pod: str, container: str = "") -> list[str]:
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
    asked = {"container": container} if container else {}
    what = f"get the log of pod {pod} in namespace {namespace}"
    answer = connection.ask(
        what, lambda: connection.http.get(path, params=asked).raise_for_status()
    )
    return [line for line in answer.content.decode(errors="replace").split("\n") if line]


def _document(line: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _tell_so_far(
    connection: Connection, place: Place, name: str, tell: Callable[[str], None]
) -> None:
    """Tell what a removal has done when it is interrupted."""
    with suppress(ClusterError):
        for pod in pods_of_job(connection, place.namespace, name):
            for one in map(_document, _lines(connection, place.namespace, pod.name)):
                if one and "said" in one:
                    tell(str(one["said"]))


def _remove(connection: Connection, namespace: str, name: str, tell: Callable[[str], None]) -> None:
    """Delete the Job, and wait until its pods are gone."""
    try:
        connection.ask(
            f"delete job {name} in namespace {namespace}",
            lambda: connection.client.delete(
                ApiJob, name, namespace=namespace, cascade=CascadeType.BACKGROUND
            ),
        )
    except AbsentError:
        pass
    except ForbiddenError as error:
        tell(f"{error}: Kubernetes removes it {KEPT_SECONDS} s after its end")
        return
    began = time.monotonic()
    while pods_of_job(connection, namespace, name):
        if time.monotonic() > began + GONE_SECONDS:
            tell(f"the pod of job {name} is not gone yet")
            return
        _wait_for_a_look(began)


def _wait_for_a_look(began: float) -> None:
    quick = time.monotonic() < began + QUICK_SECONDS
    time.sleep(QUICK_LOOK_SECONDS if quick else LOOK_SECONDS)
