"""Asks servers and claims by Jobs: what exports there are, and what a server answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from lightkube.resources.apps_v1 import Deployment as ApiDeployment
from lightkube.resources.core_v1 import Pod as ApiPod
from lightkube.types import PatchType

from tf_cluster.cluster.claim_job import (
    FILES,
    FROM_POD,
    Errand,
    Mount,
    Place,
    TrainingsPlace,
    node_of,
    place_for,
    said_by_job,
    trainings_places,
)
from tf_cluster.cluster.connection import ClusterError, Connection
from tf_cluster.cluster.serving.exports import Found, exports_of
from tf_cluster.cluster.serving.request import NAME
from tf_cluster.cluster.serving.servers import (
    CLIENT,
    GRPC_PORT,
    REST_PORT,
    Model,
    Server,
    servers,
)
from tf_cluster.cluster.workloads import LOG, Object, objects
from tf_cluster.exits import RefusedError

COMPONENT = "serving-client"
"""Of the Jobs, and so of their pods."""
KINDS = ("job", "deployment", "pod")
MODELS_MOUNT = "/models"
START_SECONDS = 120
"""What a Job may take beside what it does: a node, its volume, its image."""
RESTARTED = "kubectl.kubernetes.io/restartedAt"
LOOKED = "tf-cluster.io/looked"
"""An annotation of a server's pods: the kubelet brings a new ConfigMap at once when one changes."""
TOLERANCE = 1e-4
"""How far an answer may be off the recorded one."""
SERVES, UNKNOWN = "AVAILABLE", "UNKNOWN"
"""The state of a version that is loaded, and of one of which a server says nothing."""
# TensorFlow and a model are loaded; how large it is nobody knows yet.
LOADING: Object = {"requests": {"cpu": "100m", "memory": "512Mi"}}
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Namespace:
    """What of a namespace counts for serving, as it was seen once."""

    name: str
    trainings: tuple[TrainingsPlace, ...]
    servers: tuple[Server, ...]
    found: tuple[tuple[str, Object], ...] = ()


@dataclass(frozen=True)
class Host:
    """Where a server answers: a name or an address, and its two ports."""

    name: str
    grpc: int = GRPC_PORT
    rest: int = REST_PORT


@dataclass(frozen=True)
class Question:
    """What a server is asked: a version of a model, with what lies beside its export or a request.

    `path` is the directory of the model's versions on the claim. With a `label`, it is waited for
    until that names the version.
    """

    model: str
    version: int
    claim: str = ""
    path: str = ""
    request: str = ""
    tolerance: float | None = None
    label: str = ""


@dataclass(frozen=True)
class Answer:
    """What came back: the version's state, and how far the answer is from the recorded one."""

    state: str
    ok: bool
    seconds: float | None = None
    difference: float | None = None
    problem: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_one(self) -> bool:
        """Whether the model was asked at all: where no request is recorded, none is sent."""
        return bool(self.outputs) or self.difference is not None


@dataclass(frozen=True)
class ServerPod:
    """A pod of a server; `waits` is why a container of it does not run, or ended before."""

    name: str
    address: str
    is_ready: bool
    is_going: bool
    restarts: int = 0
    waits: str = ""


def seen(connection: Connection) -> Namespace:
    """Trainings and servers of the connection's namespace. Raises ClusterError, RefusedError."""
    found = objects(connection, connection.namespace, KINDS)
    return Namespace(
        connection.namespace,
        tuple(trainings_places(connection.namespace, found)),
        tuple(servers(connection.namespace, found)),
        tuple(found),
    )


def job_place(
    namespace: Namespace, claim: str, image: str | None, server: Server | None = None
) -> Place:
    """Where a Job runs that asks: near the claim, as a training's pods, or else as the server's.

    Raises RefusedError where nobody says with which image.
    """
    place = place_for(namespace.trainings, namespace.name, claim)
    has_training = any(one.place.claim == claim for one in namespace.trainings)
    if server is not None and not has_training:
        own = {name: server.pod[name] for name in FROM_POD if server.pod.get(name)}
        place = replace(
            place,
            pod={**own, **place.pod},
            pod_security=server.pod_security,
            security=server.security,
        )
    place = replace(place, claim=claim, image=image or place.image)
    if not place.image:
        raise RefusedError(
            f"no training in namespace {namespace.name} says which image has tf-trainer: name it "
            "with --image"
        )
    return replace(place, node=node_of(namespace.found, claim) if claim else "")


def exports(
    connection: Connection,
    place: Place,
    path: str,
    seconds: int,
    tell: Tell,
    version: int | None = None,
    *,
    every: bool = False,
) -> Found:
    """The exports in a directory of the place's claim, as many as a choice of one needs.

    That is the version that is asked for, else the newest; if it is bad also the first good one.
    Each is loaded: `every` one may take long. Raises RefusedError, ClusterError.
    """
    one = () if version is None else ("--version", str(version))
    few = () if every else ("--until-good",)
    errand = Errand(
        component=COMPONENT,
        what="check exports",
        commands=(("check-exports", f"{LOG}/{path}", *one, *few),),
        mounts=(Mount(place.claim),),
        resources=LOADING,
    )
    return exports_of(said_by_job(connection, place, errand, seconds, tell)[-1][-1])


@dataclass(frozen=True)
class Published:
    """A version that was copied: its number, its bytes, and the number that it had."""

    number: int
    size: int
    source: int


def publish(
    connection: Connection,
    place: Place,
    path: str,
    target: tuple[str, str],
    version: int | None,
    seconds: int,
    tell: Tell,
) -> Published:
    """Copy a version from the place's claim into a directory of a claim, under its next number.

    Raises RefusedError, ClusterError.
    """
    claim, directory = target
    one = () if version is None else ("--version", str(version))
    words = ("publish-export", f"{LOG}/{path}", f"{MODELS_MOUNT}/{directory}", *one)
    errand = Errand(
        component=COMPONENT,
        what="publish exports",
        commands=(words,),
        mounts=(Mount(place.claim), Mount(claim, MODELS_MOUNT, may_write=True)),
        resources=LOADING,
        late="a longer --timeout lets it end; what is half copied is no version",
    )
    document = said_by_job(connection, place, errand, seconds, tell)[-1][-1]
    try:
        numbers = (int(document[key]) for key in ("number", "bytes", "from"))
        return Published(*numbers)
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"the trainer's image says what this tool can't read: {error!r}"
        ) from None


def answer_of(document: Mapping[str, Any]) -> Answer:
    """What `tf-trainer ask-serving` printed. Raises RefusedError if it is not that."""
    try:
        seconds, difference = document.get("seconds"), document.get("difference")
        return Answer(
            state=str(document["state"] or UNKNOWN),
            ok=bool(document["ok"]),
            seconds=None if seconds is None else float(seconds),
            difference=None if difference is None else float(difference),
            problem=str(document.get("problem") or ""),
            outputs=dict((document.get("answer") or {}).get("outputs") or {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"the trainer's image says what this tool can't read: {error!r}"
        ) from None


def asked(
    connection: Connection,
    place: Place,
    server: Server,
    question: Question,
    hosts: Sequence[Host],
    seconds: int,
    tell: Tell,
    is_needed: Callable[[], bool] = lambda: True,
) -> list[Answer]:
    """What each host answers, one after the other.

    Waits at most `seconds` for the version to be there. Raises RefusedError, ClusterError, and
    NeedlessError when the answers are not needed any more.
    """
    errand = Errand(
        component=COMPONENT,
        what="ask servers",
        commands=tuple(ask_words(question, host, seconds) for host in hosts),
        mounts=(Mount(question.claim),) if question.claim and not question.request else (),
        marks={CLIENT: server.name},
        files={NAME: question.request} if question.request else {},
        resources=LOADING,
    )
    said = said_by_job(connection, place, errand, seconds + START_SECONDS, tell, is_needed)
    return [answer_of(documents[-1]) for documents in said]


def ask_words(question: Question, host: Host, seconds: int) -> tuple[str, ...]:
    """The command of the trainer that asks a host."""
    name = f"[{host.name}]" if ":" in host.name else host.name
    if question.request:
        what = ("--request", f"{FILES}/{NAME}")
    else:
        what = ("--export", f"{LOG}/{question.path}/{question.version}")
    tolerance = question.tolerance
    return (
        "ask-serving",
        *("--grpc", f"{name}:{host.grpc}"),
        *("--rest", f"http://{name}:{host.rest}"),
        *("--model", question.model),
        *("--version", str(question.version)),
        *what,
        *("--wait", str(seconds)),
        *(("--tolerance", f"{tolerance:g}") if tolerance is not None else ()),
        *(("--label", question.label) if question.label else ()),
    )


def question_of(model: Model, version: int, tolerance: float | None = None) -> Question:
    """The recorded request of a version that lies on a claim; TOLERANCE where none is given."""
    far = TOLERANCE if tolerance is None else tolerance
    return Question(model.name, version, model.claim, model.path, tolerance=far)


def server_pods(connection: Connection, server: Server) -> list[ServerPod]:
    """The pods of a server, by name. Raises ClusterError."""
    found = connection.items(
        f"list pods in namespace {server.namespace}",
        f"/api/v1/namespaces/{server.namespace}/pods",
        {"labelSelector": ",".join(f"{key}={value}" for key, value in server.selector.items())},
        {"Accept": "application/json"},
    )
    return sorted(map(server_pod, found), key=lambda pod: pod.name)


def server_pod(pod: Object) -> ServerPod:
    """A pod as the API server gives it."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    conditions = status.get("conditions") or ()
    return ServerPod(
        name=str(metadata["name"]),
        address=str(status.get("podIP") or ""),
        is_ready=any(one["type"] == "Ready" and one["status"] == "True" for one in conditions),
        is_going=bool(metadata.get("deletionTimestamp")),
        restarts=max((int(one.get("restartCount") or 0) for one in containers), default=0),
        waits=next(filter(None, map(_waits, containers)), "") or _no_node(conditions),
    )


def _waits(container: Mapping[str, Any]) -> str:
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    if reason and reason not in ("PodInitializing", "ContainerCreating"):
        said = str(waiting.get("message") or "")
        return f"{container.get('name')}: {reason}{f': {said}' if said else ''}"
    return ""


def _no_node(conditions: Sequence[Mapping[str, Any]]) -> str:
    for one in conditions:
        if one["type"] == "PodScheduled" and one["status"] == "False":
            return f"{one.get('reason')}: {one.get('message')}"
    return ""


def restart(connection: Connection, server: Server) -> None:
    """Replace the server's pods, as `kubectl rollout restart` does. Raises ClusterError."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    template = {"metadata": {"annotations": {RESTARTED: now}}}
    connection.ask(
        f"patch deployment {server.name} in namespace {server.namespace}",
        lambda: connection.client.patch(
            ApiDeployment,
            server.name,
            {"spec": {"template": template}},
            namespace=server.namespace,
            patch_type=PatchType.MERGE,
        ),
    )


def hasten(connection: Connection, server: Server) -> None:
    """Have the kubelets bring a new list of models into the pods now, not within a minute or so.

    Where that is not allowed it comes by itself.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    change = {"metadata": {"annotations": {LOOKED: now}}}
    for pod in server_pods(connection, server):
        try:
            connection.ask(
                f"patch pod {pod.name} in namespace {server.namespace}",
                lambda name=pod.name: connection.client.patch(  # type: ignore[misc]
                    ApiPod,
                    name,
                    change,
                    namespace=server.namespace,
                    patch_type=PatchType.MERGE,
                ),
            )
        except ClusterError:
            continue
