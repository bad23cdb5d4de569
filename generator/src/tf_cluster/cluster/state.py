"""Where trainings stand: their status, and what their client last said of its progress."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tf_cluster.cluster import labels, logs
from tf_cluster.cluster.connection import ClusterError, Connection
from tf_cluster.cluster.snapshot import Deployment, Job, Pod, Training
from tf_cluster.progress.document import Progress, read_message
from tf_cluster.progress.line import ALL_THERE, newest, newest_wait

TAIL_LINES = 200
"""Of a client's log: progress is logged again and again, the program's own lines between."""
LONG_TAIL_LINES = 5000
"""Of the log of one whose program says more than that between two lines of progress."""


@dataclass(frozen=True)
class State:
    """A training's status, why it has it where that is not plain, and its progress where known.

    `status` is one of the client's own (docs/formats.md), or `pending` (its pod does not run yet),
    `suspended`, `starting` (it has said nothing yet), `serving` (it has no client's Job), or
    `ending` (only pods are left of it). One that `has_ended` goes no further by itself.
    """

    status: str
    why: str = ""
    progress: Progress | None = None
    has_ended: bool = False


@dataclass(frozen=True)
class Standing:
    """A training and its state."""

    training: Training
    state: State


def standings(
    connection: Connection, trainings: Sequence[Training]
) -> tuple[list[Standing], list[str]]:
    """The states of some trainings, and why progress of some is not known.

    Reads one log for each training whose client runs, at most 16 at once; more of it where its end
    says nothing of progress.
    """
    speaking: defaultdict[str, list[Pod]] = defaultdict(list)
    for training in trainings:
        if pod := _speaker(training):
            speaking[training.namespace].append(pod)
    found = logs.ends(connection, speaking, TAIL_LINES)
    talkative = {
        namespace: [pod for pod in pods if _says_too_much(found[namespace, pod.name])]
        for namespace, pods in speaking.items()
    }
    found |= logs.ends(connection, talkative, LONG_TAIL_LINES)
    unread = {str(error): None for error in found.values() if isinstance(error, ClusterError)}
    return [_standing(training, found) for training in trainings], list(unread)


def _says_too_much(lines: tuple[str, ...] | ClusterError) -> bool:
    """Whether the end of a log is full of other lines than those of progress."""
    if isinstance(lines, ClusterError) or len(lines) < TAIL_LINES:
        return False
    return newest(lines) is None and newest_wait(lines) is None


def state_of(training: Training, lines: Sequence[str] = ()) -> State:
    """The state of a training; `lines` are the end of its client's log, where that runs."""
    client = training.client()
    if client is None:
        return State("serving" if training.deployments else "ending")
    progress = newest(lines) or _left_behind(training)
    is_superseded = progress is not None and progress.status == "superseded"
    said = progress.message if progress and progress.final else ""
    if failed := client.condition("Failed"):
        if client.stopped:
            why = f"tf-cluster stop ended it at {client.stopped}"
            return State("stopped", why, progress, has_ended=True)
        why = said or f"{failed.reason}: {failed.message}"
        status = "superseded" if is_superseded else "failed"
        return State(status, why, progress, has_ended=True)
    pods = training.client_pods()
    if client.condition("Complete") or (pods and said and _exit_code(pods[0]) == 0):
        return State("superseded" if is_superseded else "done", said, progress, has_ended=True)
    if client.is_suspended:
        return State("suspended", "its Job is suspended", progress)
    if not pods:
        return State("pending", "its client has no pod", progress)
    pod = pods[0]
    if pod.phase == "Pending":
        return State("pending", waits_for(pod), progress)
    if _exit_code(pod) is not None:
        return State("starting", _end_of(pod), progress)
    if wait := newest_wait(lines):
        return State("waiting", f"{wait.seconds} s for {wait.reasons}", progress)
    if progress is None or progress.final:
        return State(_without_progress(lines), "", progress)
    return State(progress.status, progress.message, progress)


def _without_progress(lines: Sequence[str]) -> str:
    """What a client does that says nothing of steps: a script, or a worker that others drive."""
    if any("serving at" in line for line in lines):
        return "serving"
    is_through = any(ALL_THERE in line for line in lines) or len(lines) >= TAIL_LINES
    return "running" if is_through else "starting"


def _exit_code(pod: Pod) -> int | None:
    """That of its task, also where another container keeps the pod; None while it runs."""
    main = pod.main
    if main and main.ended:
        return main.ended.exit_code
    return -1 if pod.has_ended else None


def waits_for(pod: Pod) -> str:
    """Why a pod does not run yet: a node, or what one of its containers waits for."""
    scheduled = pod.condition("PodScheduled")
    if scheduled and scheduled.status == "False":
        return f"{scheduled.reason}: {scheduled.message}"
    for container in pod.containers:
        if container.waits_for and container.waits_for != "PodInitializing":
            said = f": {container.message}" if container.message else ""
            return f"{container.name}: {container.waits_for}{said}"
    return ""


def count_tasks(training: Training) -> tuple[int, int]:
    """How many tasks of the newest attempt are ready, and how many it has."""
    made: list[Job | Deployment] = [*training.jobs, *training.deployments]
    tasks = [one for one in made if one.attempt == training.attempt and one.role in labels.TASKS]
    pods = [pod for pod in training.pods_of(training.attempt) if pod.role in labels.TASKS]
    return sum(pod.is_ready for pod in pods), sum(one.tasks for one in tasks)


def devices(training: Training) -> dict[str, int]:
    """What pods that have not ended ask for beside CPU, memory and disk, as GPUs, by resource."""
    found: defaultdict[str, float] = defaultdict(float)
    for pod in training.pods:
        if not pod.has_ended:
            for name, amount in pod.amounts.items():
                if "/" in name:
                    found[name] += amount
    return {name: round(amount) for name, amount in sorted(found.items())}


def _standing(
    training: Training, found: dict[tuple[str, str], tuple[str, ...] | ClusterError]
) -> Standing:
    pod = _speaker(training)
    lines = found.get((training.namespace, pod.name)) if pod else None
    return Standing(training, state_of(training, lines if isinstance(lines, tuple) else ()))


def _speaker(training: Training) -> Pod | None:
    """The client's pod whose log says how far it is: none where its message says so already."""
    for pod in training.client_pods()[:1]:
        if logs.has_log(pod) and _message(pod) is None:
            return pod
    return None


def _left_behind(training: Training) -> Progress | None:
    """What the newest of the client's pods that ended has left."""
    return next(filter(None, map(_message, training.client_pods())), None)


def _message(pod: Pod) -> Progress | None:
    main = pod.main
    return read_message(main.ended.message) if main and main.ended else None


def _end_of(pod: Pod) -> str:
    main = pod.main
    if main is None or main.ended is None:
        return pod.reason
    said = f" ({main.ended.reason})" if main.ended.reason not in ("", "Error", "Completed") else ""
    return f"its last pod ended with exit code {main.ended.exit_code}{said}"
