"""Takes a snapshot: asks the API server, a page at a time, and keeps what snapshot.py has.

The number of requests grows with the pages, not with the trainings.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from lightkube.models.apps_v1 import DeploymentCondition
from lightkube.models.batch_v1 import JobCondition
from lightkube.models.core_v1 import Container as ApiContainer
from lightkube.models.core_v1 import (
    ContainerStateTerminated,
    ContainerStatus,
    NodeCondition,
    PodCondition,
    PodSpec,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment as ApiDeployment
from lightkube.resources.batch_v1 import Job as ApiJob
from lightkube.resources.core_v1 import Event as ApiEvent
from lightkube.resources.core_v1 import Node as ApiNode
from lightkube.resources.core_v1 import PersistentVolumeClaim, ResourceQuota
from lightkube.resources.core_v1 import Pod as ApiPod
from lightkube.resources.storage_v1 import StorageClass as ApiStorageClass

from tf_cluster.cluster import labels, logs
from tf_cluster.cluster.connection import PAGE, ClusterError, Connection, ForbiddenError
from tf_cluster.cluster.snapshot import (
    Claim,
    Condition,
    Container,
    Deployment,
    Ended,
    Event,
    Job,
    Node,
    Pod,
    Quota,
    Release,
    Snapshot,
    StorageClass,
    Training,
    of_kind,
)
from tf_cluster.expand.quantity import quantity
from tf_cluster.progress.line import read_line

METADATA_ALONE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
LOGS_OF_A_TRAINING = 12
"""Most logs that are read of one training for the doctor."""
LONG_TAIL_LINES = 2000
"""Lines that are looked through of a log of which only a few count: a server's of hours."""
LONGEST_LINE = 4000
"""Characters that are kept of a line of a log."""
ARGO_CD = "argocd:"
"""Before the Application's name, in `managed_by`."""
ALL = "*"
"""The namespace that stands for all."""
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def trainings(connection: Connection, namespace: str, name: str = "") -> Snapshot:
    """The trainings of a namespace, or of all, or the one of a name: Jobs, Deployments and pods.

    Raises ClusterError.
    """
    read = _Reading(connection, namespace)
    selector: dict[str, Any] = {labels.ATTEMPT: None, **({labels.INSTANCE: name} if name else {})}
    parts: defaultdict[_Key, _Parts] = defaultdict(_Parts)
    for job in read.all(ApiJob, "jobs", selector):
        parts[_key(job.metadata)].add(job.metadata, _job(job))
    for deployment in read.all(ApiDeployment, "deployments", selector):
        parts[_key(deployment.metadata)].add(deployment.metadata, _deployment(deployment))
    for pod in read.all(ApiPod, "pods", selector):
        parts[_key(pod.metadata)].pods.append(_pod(pod))
    return Snapshot(
        at=datetime.now(timezone.utc),
        trainings=tuple(parts[key].training(key) for key in sorted(parts)),
    )


def clock(connection: Connection) -> datetime:
    """The API server's time: ages are of its objects, and this machine's clock may be wrong.

    Raises ClusterError.
    """
    answer = connection.ask("ask the version", lambda: connection.http.get("/version"))
    try:
        return parsedate_to_datetime(answer.headers["Date"]).astimezone(timezone.utc)
    except (KeyError, ValueError):
        return datetime.now(timezone.utc)


def with_claims(connection: Connection, namespace: str, name: str = "") -> Snapshot:
    """The same with claims, unless it is forbidden to read them: then `unread` says so."""
    snapshot = trainings(connection, namespace, name)
    read = _Reading(connection, namespace)
    listed = read.some(PersistentVolumeClaim, "persistentvolumeclaims")
    if read.unread:
        return replace(snapshot, unread=tuple(read.unread))
    claims = {_named(one.metadata): _claim(one) for one in listed}
    found = tuple(replace(one, claims=_claims_of(one, claims)) for one in snapshot.trainings)
    return replace(snapshot, trainings=found)


def whole(connection: Connection, namespace: str, name: str = "") -> Snapshot:
    """The same with claims, events, nodes, classes and quotas.

    What may not be read stands in `unread`, and the rest is there all the same.
    """
    snapshot = with_claims(connection, namespace, name)
    read = _Reading(connection, namespace)
    seen = [_event(one) for one in read.some(ApiEvent, "events")]
    limits = [_quota(one) for one in read.some(ResourceQuota, "resourcequotas")]
    nodes = [_node(one) for one in read.some(ApiNode, "nodes", is_global=True)]
    classes = [_class(one) for one in read.some(ApiStorageClass, "storageclasses", is_global=True)]
    releases = _releases(connection, namespace, read.unread)
    version = connection.ask("ask the version", lambda: connection.http.get("/version"))
    return replace(
        snapshot,
        events=_in_order(seen),
        quotas=tuple(limits),
        releases=releases,
        nodes=tuple(nodes),
        classes=tuple(classes),
        unread=(*snapshot.unread, *read.unread),
        version=str(version.json().get("gitVersion", "")),
        servers=servers(connection, namespace, name),
    )


def servers(connection: Connection, namespace: str, name: str = "") -> tuple[Training, ...]:
    """The servers of models of a namespace, or of all, or those of one release.

    Raises ClusterError.
    """
    read = _Reading(connection, namespace)
    selector = {labels.COMPONENT: labels.SERVING, **({labels.INSTANCE: name} if name else {})}
    parts: defaultdict[_Key, _Parts] = defaultdict(_Parts)
    for deployment in read.all(ApiDeployment, "deployments", selector):
        if labels.MODELS in (deployment.metadata.annotations or {}):
            parts[_key(deployment.metadata)].add(deployment.metadata, _deployment(deployment))
    if not parts:
        return ()
    for pod in read.all(ApiPod, "pods", selector):
        if _key(pod.metadata) in parts:
            parts[_key(pod.metadata)].pods.append(_pod(pod))
    found = [parts[key].training(key) for key in sorted(parts)]
    listed = read.some(PersistentVolumeClaim, "persistentvolumeclaims")
    claims = {_named(one.metadata): _claim(one) for one in listed}
    if read.unread:
        return tuple(found)
    return tuple(replace(one, claims=_claims_of(one, claims)) for one in found)


def with_logs(connection: Connection, snapshot: Snapshot, tail: int) -> Snapshot:
    """The same with the ends of logs: the client's, those of tasks that are not well, and servers'.

    These are the last `tail` lines. Of a client and of a server, which may say much between what
    counts, they have also the lines before that tell of progress, or of loading a version.
    """
    every = (*snapshot.trainings, *snapshot.servers)
    short: defaultdict[str, list[Pod]] = defaultdict(list)
    long: defaultdict[str, list[Pod]] = defaultdict(list)
    for one in every:
        clients = [pod.name for pod in one.client_pods()[:1]]
        for pod in filter(logs.has_log, _telling(one)):
            tells = pod.name in clients or pod.role == labels.SERVING
            (long if tells else short)[one.namespace].append(pod)
    found = logs.ends(connection, short, tail)
    for key, lines in logs.ends(connection, long, max(tail, LONG_TAIL_LINES)).items():
        found[key] = lines if isinstance(lines, ClusterError) else _that_count(lines, tail)
    unread = sorted({str(error) for error in found.values() if isinstance(error, ClusterError)})

    def with_log(namespace: str, pod: Pod) -> Pod:
        lines = found.get((namespace, pod.name))
        if not isinstance(lines, tuple):
            return pod
        return replace(pod, log=tuple(line[:LONGEST_LINE] for line in lines))

    def with_all(some: tuple[Training, ...]) -> tuple[Training, ...]:
        return tuple(
            replace(one, pods=tuple(with_log(one.namespace, pod) for pod in one.pods))
            for one in some
        )

    return replace(
        snapshot,
        trainings=with_all(snapshot.trainings),
        servers=with_all(snapshot.servers),
        unread=(*snapshot.unread, *unread),
    )


def _that_count(lines: tuple[str, ...], tail: int) -> tuple[str, ...]:
    """The last lines of a log, and those before them that tell of progress or of a version."""
    before = len(lines) - tail
    return tuple(
        line
        for at, line in enumerate(lines)
        if at >= before or "servable" in line or read_line(line) is not None
    )


def _telling(training: Training) -> Iterable[Pod]:
    """The newest pods of the client, and tasks that are not well: at most LOGS_OF_A_TRAINING."""
    client = [pod.name for pod in training.client_pods()[:2]]
    pods = list(training.pods_of(training.attempt))
    pods.sort(key=lambda pod: (pod.name not in client, pod.is_ready or pod.phase == "Succeeded"))
    return pods[:LOGS_OF_A_TRAINING]


@dataclass(frozen=True)
class User:
    """A pod, Job or Deployment that names claims; `owner` is what its labels say."""

    kind: str
    name: str
    owner: tuple[str, str]
    claims: tuple[str, ...]


def users_of_claims(connection: Connection, namespace: str) -> Iterable[User]:
    """All in a namespace that name claims, whoever made them; pods that have ended do not count.

    Raises ClusterError.
    """
    read = _Reading(connection, namespace)
    for kind, api, plural in (
        ("pod", ApiPod, "pods"),
        ("job", ApiJob, "jobs"),
        ("deployment", ApiDeployment, "deployments"),
    ):
        for one in read.all(api, plural):
            if kind == "pod" and one.status.phase in ("Succeeded", "Failed"):
                continue
            spec = one.spec if kind == "pod" else one.spec.template.spec
            if claims := _claim_names(spec):
                yield User(kind, one.metadata.name, _owner(one.metadata), claims)


def claim_named(connection: Connection, namespace: str, name: str) -> Claim:
    """One claim. Raises ClusterError, AbsentError where there is none."""
    what = f"get persistentvolumeclaim {name} in namespace {namespace}"
    client = connection.client
    return _claim(
        connection.ask(what, lambda: client.get(PersistentVolumeClaim, name, namespace=namespace))
    )


def pods_of_job(connection: Connection, namespace: str, job: str) -> list[Pod]:
    """The pods of one Job, whoever made it, the newest first. Raises ClusterError."""
    found = _Reading(connection, namespace).all(ApiPod, "pods", {labels.JOB_NAME: job})
    return sorted(map(_pod, found), key=lambda pod: (str(pod.created), pod.name), reverse=True)


def nodes_and_requests(
    connection: Connection,
) -> tuple[list[Node], dict[str, dict[str, float]]]:
    """The nodes, and what all pods that have not ended ask of each. Raises ClusterError.

    The count of pods is the resource `pods`.
    """
    read = _Reading(connection, ALL)
    nodes = [_node(one) for one in read.all(ApiNode, "nodes", is_global=True)]
    asked: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for pod in map(_pod, read.all(ApiPod, "pods")):
        if pod.node and not pod.has_ended:
            asked[pod.node].append({**pod.amounts, "pods": 1.0})
    in_order = sorted(nodes, key=lambda node: node.name)
    return in_order, {name: total(parts) for name, parts in asked.items()}


def quotas(connection: Connection, namespace: str) -> tuple[Quota, ...]:
    """The quotas of a namespace, or of all. Raises ClusterError."""
    read = _Reading(connection, namespace)
    found = [_quota(one) for one in read.all(ResourceQuota, "resourcequotas")]
    return tuple(sorted(found, key=lambda quota: (quota.namespace, quota.name)))


def events(connection: Connection, namespace: str) -> tuple[Event, ...]:
    """The events of a namespace, the oldest first. Raises ClusterError."""
    read = _Reading(connection, namespace)
    return _in_order(_event(one) for one in read.all(ApiEvent, "events"))


def releases(connection: Connection, namespace: str, name: str = "") -> tuple[Release, ...]:
    """The newest record of each Helm release: the labels of its Secrets, never what is in them.

    Raises ClusterError.
    """
    what = f"list secrets{_in(namespace)}"
    path = "/api/v1/secrets" if namespace == ALL else f"/api/v1/namespaces/{namespace}/secrets"
    only = {"labelSelector": "owner=helm" + (f",name={name}" if name else "")}
    newest: dict[tuple[str, str], Release] = {}
    for item in connection.items(what, path, only, {"Accept": METADATA_ALONE}):
        one = _release(item["metadata"])
        key = (one.namespace, one.name)
        if key not in newest or newest[key].revision < one.revision:
            newest[key] = one
    return tuple(newest[key] for key in sorted(newest))


def _releases(connection: Connection, namespace: str, unread: list[str]) -> tuple[Release, ...]:
    try:
        return releases(connection, namespace)
    except ForbiddenError:
        unread.append(f"list secrets{_in(namespace)}")
        return ()


def _release(metadata: Mapping[str, Any]) -> Release:
    marks = metadata.get("labels") or {}
    return Release(
        namespace=metadata["namespace"],
        name=marks.get("name", ""),
        status=marks.get("status", ""),
        revision=_number(marks.get("version")),
        created=datetime.fromisoformat(metadata["creationTimestamp"].replace("Z", "+00:00")),
    )


def _in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda one: (str(one.at or ""), one.name, one.reason)))


Part = TypeVar("Part")
_Key = tuple[str, str, str]


@dataclass
class _Parts:
    """What was read so far of one training."""

    managed_by: str = ""
    jobs: list[Job] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)

    def add(self, metadata: ObjectMeta, made: Job | Deployment) -> None:
        found = manager(metadata.annotations or {})
        if not self.managed_by or found.startswith(ARGO_CD):
            self.managed_by = found
        if isinstance(made, Job):
            self.jobs.append(made)
        else:
            self.deployments.append(made)

    def training(self, key: _Key) -> Training:
        namespace, name, chart = key
        order = {role: number for number, role in enumerate(labels.TASKS)}

        def rank(one: Job | Deployment | Pod) -> tuple[int, int, str]:
            return (order.get(one.role, len(order)), getattr(one, "index", 0), one.name)

        return Training(
            namespace=namespace,
            name=name,
            chart=chart,
            managed_by=self.managed_by,
            jobs=tuple(sorted(self.jobs, key=rank)),
            deployments=tuple(sorted(self.deployments, key=rank)),
            pods=tuple(sorted(self.pods, key=rank)),
        )


class _Reading:
    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self.unread: list[str] = []

    def all(
        self,
        kind: Any,
        plural: str,
        selector: Mapping[str, Any] | None = None,
        *,
        is_global: bool = False,
    ) -> list[Any]:
        """Every object of a kind. Raises ClusterError."""
        where = {} if is_global else {"namespace": self._namespace}
        inside = "" if is_global else _in(self._namespace)

        def question() -> list[Any]:
            client: Any = self._connection.client  # it types namespaced and global kinds apart
            return list(client.list(kind, labels=selector or {}, chunk_size=PAGE, **where))

        return self._connection.ask(f"list {plural}{inside}", question)

    def some(self, kind: Any, plural: str, *, is_global: bool = False) -> list[Any]:
        """Every object of a kind, or none where that is forbidden, which is noted."""
        try:
            return self.all(kind, plural, is_global=is_global)
        except ForbiddenError:
            self.unread.append(f"list {plural}{'' if is_global else _in(self._namespace)}")
            return []


def _there(part: Part | None) -> Part:
    """A part that the API server always gives, though its type allows none."""
    if part is None:
        raise ClusterError("the API server gave an object without metadata, spec or status")
    return part


def _in(namespace: str) -> str:
    return " in all namespaces" if namespace == ALL else f" in namespace {namespace}"


def _owner(metadata: ObjectMeta) -> tuple[str, str]:
    """The release and the chart's name that the labels of an object say."""
    marks = metadata.labels or {}
    return (marks.get(labels.INSTANCE, ""), marks.get(labels.NAME, ""))


def _key(metadata: ObjectMeta | None) -> _Key:
    metadata = _there(metadata)
    return (str(metadata.namespace), *_owner(metadata))


def _named(metadata: ObjectMeta | None) -> tuple[str, str]:
    metadata = _there(metadata)
    return (str(metadata.namespace), str(metadata.name))


def manager(notes: Mapping[str, str]) -> str:
    """Who manages an object, by its annotations: `argocd:APPLICATION`, `helm`, or nobody."""
    tracked = notes.get(labels.ARGO_CD_TRACKING, "")
    if tracked:
        return f"{ARGO_CD}{tracked.partition(':')[0]}"
    return "helm" if labels.HELM_RELEASE in notes else ""


def _made_of(metadata: ObjectMeta) -> dict[str, Any]:
    marks = metadata.labels or {}
    return {
        "name": str(metadata.name),
        "role": marks.get(labels.COMPONENT, ""),
        "attempt": marks.get(labels.ATTEMPT, ""),
        "created": metadata.creationTimestamp,
    }


def _job(job: ApiJob) -> Job:
    spec, status = _there(job.spec), job.status
    ended = (status.completionTime if status else None) or None
    conditions = _conditions(status.conditions if status else None)
    failed = [one.since for one in conditions if one.kind == "Failed" and one.status == "True"]
    return Job(
        **_made_of(_there(job.metadata)),
        tasks=1 if spec.completions is None else spec.completions,
        ready=(status.ready or 0) if status else 0,
        active=(status.active or 0) if status else 0,
        succeeded=(status.succeeded or 0) if status else 0,
        failed=(status.failed or 0) if status else 0,
        is_suspended=bool(spec.suspend),
        stopped=(_there(job.metadata).annotations or {}).get(labels.STOPPED, ""),
        backoff_limit=spec.backoffLimit,
        ended=ended or next(iter(failed), None),
        conditions=conditions,
    )


def _deployment(deployment: ApiDeployment) -> Deployment:
    metadata, spec = _there(deployment.metadata), _there(deployment.spec)
    status = deployment.status
    return Deployment(
        **_made_of(metadata),
        index=_number((metadata.labels or {}).get(labels.INDEX)),
        tasks=1 if spec.replicas is None else spec.replicas,
        ready=(status.readyReplicas or 0) if status else 0,
        conditions=_conditions(status.conditions if status else None),
        models=(metadata.annotations or {}).get(labels.MODELS, ""),
    )


def _pod(pod: ApiPod) -> Pod:
    metadata, spec, status = _there(pod.metadata), _there(pod.spec), _there(pod.status)
    marks = metadata.labels or {}
    index = marks.get(labels.COMPLETION_INDEX) or marks.get(labels.INDEX)
    statuses = {
        one.name: one
        for one in (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
    }
    containers = (
        *(
            _container(one, statuses.get(one.name), is_init=True)
            for one in spec.initContainers or ()
        ),
        *(_container(one, statuses.get(one.name)) for one in spec.containers),
    )
    return Pod(
        **_made_of(metadata),
        phase=status.phase or "Unknown",
        index=_number(index),
        owner=next(
            (owner.name for owner in metadata.ownerReferences or () if owner.controller), ""
        ),
        uid=str(metadata.uid),
        node=spec.nodeName or "",
        reason=status.reason or "",
        message=status.message or "",
        deleted=metadata.deletionTimestamp,
        conditions=_conditions(status.conditions),
        containers=containers,
        amounts=_asked(spec),
        selector=dict(spec.nodeSelector or {}),
        claims=_claim_names(spec),
        gates=tuple(gate.name for gate in spec.schedulingGates or ()),
    )


def _claim_names(spec: PodSpec) -> tuple[str, ...]:
    found = (volume.persistentVolumeClaim for volume in spec.volumes or ())
    return tuple(claim.claimName for claim in found if claim)


def _container(
    container: ApiContainer, status: ContainerStatus | None, *, is_init: bool = False
) -> Container:
    is_sidecar = is_init and container.restartPolicy == "Always"
    if status is None:
        return Container(
            container.name, container.image or "", is_init=is_init, is_sidecar=is_sidecar
        )
    waiting = status.state.waiting if status.state else None
    return Container(
        name=container.name,
        image=container.image or "",
        is_init=is_init,
        is_sidecar=is_sidecar,
        is_ready=status.ready,
        is_running=bool(status.state and status.state.running),
        restarts=status.restartCount,
        waits_for=(waiting.reason or "") if waiting else "",
        message=(waiting.message or "") if waiting else "",
        ended=_ended(status.state.terminated if status.state else None),
        before=_ended(status.lastState.terminated if status.lastState else None),
    )


def _ended(terminated: ContainerStateTerminated | None) -> Ended | None:
    if terminated is None:
        return None
    return Ended(
        exit_code=terminated.exitCode,
        reason=terminated.reason or "",
        message=terminated.message or "",
        at=terminated.finishedAt,
    )


def _conditions(
    given: Iterable[PodCondition | JobCondition | DeploymentCondition | NodeCondition] | None,
) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            kind=one.type or "",
            status=one.status or "",
            reason=one.reason or "",
            message=one.message or "",
            since=one.lastTransitionTime,
        )
        for one in given or ()
    )


def _asked(spec: PodSpec) -> dict[str, float]:
    """What the scheduler reckons: the most at any time, of init containers one after the other."""
    running = total(map(_requests, spec.containers))
    most: dict[str, float] = {}
    sidecars: dict[str, float] = {}
    for container in spec.initContainers or ():
        now = total((sidecars, _requests(container)))
        most = {name: max(most.get(name, 0.0), now.get(name, 0.0)) for name in {*most, *now}}
        if container.restartPolicy == "Always":
            sidecars = now
    running = total((running, sidecars))
    most = {name: max(most.get(name, 0.0), running.get(name, 0.0)) for name in {*most, *running}}
    overhead = {name: amount(value) for name, value in (spec.overhead or {}).items()}
    return total((most, overhead))


def _requests(container: ApiContainer) -> dict[str, float]:
    """What a container requests; a limit alone is a request, too."""
    given = container.resources
    if given is None:
        return {}
    both = {**(given.limits or {}), **(given.requests or {})}
    return {name: amount(value) for name, value in both.items()}


def total(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Amounts by resource, added up."""
    whole: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        for name, value in part.items():
            whole[name] += value
    return dict(whole)


def _claims_of(training: Training, claims: Mapping[tuple[str, str], Claim]) -> tuple[Claim, ...]:
    """The claims that its pods name and those of its release that no pod names (yet)."""
    wanted = {name for pod in training.pods for name in pod.claims}
    there = {name for namespace, name in claims if namespace == training.namespace}
    own = {
        name
        for name in there
        if claims[training.namespace, name].owner == (training.name, training.chart)
    }
    return tuple(
        claims.get((training.namespace, name)) or Claim(name, "Missing")
        for name in sorted(wanted | own)
    )


def _claim(claim: PersistentVolumeClaim) -> Claim:
    metadata, spec, status = _there(claim.metadata), _there(claim.spec), claim.status
    requested = spec.resources.requests if spec.resources else None
    return Claim(
        name=str(metadata.name),
        phase=(status.phase or "Pending") if status else "Pending",
        storage_class=spec.storageClassName or "",
        size=(requested or {}).get("storage", ""),
        modes=tuple(spec.accessModes or ()),
        volume=spec.volumeName or "",
        created=metadata.creationTimestamp,
        owner=_owner(metadata),
    )


def _event(event: ApiEvent) -> Event:
    series = event.series
    about = event.involvedObject
    seen = (series.lastObservedTime if series else None) or event.lastTimestamp or event.eventTime
    return Event(
        kind=about.kind or "",
        name=about.name or "",
        namespace=about.namespace or "",
        uid=about.uid or "",
        reason=event.reason or "",
        message=event.message or "",
        is_warning=event.type == "Warning",
        count=(series.count if series else None) or event.count or 1,
        at=seen,
    )


def _quota(quota: ResourceQuota) -> Quota:
    metadata, status = _there(quota.metadata), quota.status
    return Quota(
        name=str(metadata.name),
        namespace=str(metadata.namespace),
        hard=dict((status.hard if status else None) or {}),
        used=dict((status.used if status else None) or {}),
    )


def _node(node: ApiNode) -> Node:
    metadata, spec, status = _there(node.metadata), node.spec, _there(node.status)
    conditions = _conditions(status.conditions)
    ready = of_kind(conditions, "Ready")
    return Node(
        name=str(metadata.name),
        allocatable={name: amount(given) for name, given in (status.allocatable or {}).items()},
        capacity={name: amount(given) for name, given in (status.capacity or {}).items()},
        is_ready=ready is not None and ready.status == "True",
        is_unschedulable=bool(spec and spec.unschedulable),
        taints=tuple(
            f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"
            for taint in (spec.taints if spec else None) or ()
        ),
        labels=dict(metadata.labels or {}),
        conditions=conditions,
    )


def _class(one: ApiStorageClass) -> StorageClass:
    metadata = _there(one.metadata)
    return StorageClass(
        name=str(metadata.name),
        provisioner=one.provisioner,
        is_default=(metadata.annotations or {}).get(_DEFAULT_CLASS) == "true",
        binds_late=one.volumeBindingMode == "WaitForFirstConsumer",
    )


def amount(given: str) -> float:
    """A quantity in its unit: cores, bytes, pieces. 0 for what is no quantity."""
    try:
        return float(quantity(str(given)))
    except ValueError:
        return 0.0


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
