"""Carries a promotion or a rollback out: each step by helm, each version asked in every pod."""

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tf_cluster.cluster.claim_job import NeedlessError, Place
from tf_cluster.cluster.connection import Connection
from tf_cluster.cluster.helm import Helm
from tf_cluster.cluster.mutex import LostError, Mutex
from tf_cluster.cluster.serving.asking import (
    SERVES,
    Answer,
    Host,
    Question,
    ServerPod,
    Tell,
    asked,
    hasten,
    server_pods,
)
from tf_cluster.cluster.serving.promotion import STABLE, Promotion, Wanted
from tf_cluster.cluster.serving.releasing import install, values_there, with_wanted
from tf_cluster.cluster.serving.servers import Model, Server
from tf_cluster.exits import RefusedError

LOOK_SECONDS = 2.0
LABEL_SECONDS = 180.0
"""How long pods have at least to follow a label, whatever time the load has taken."""


class WorseError(RefusedError):
    """A version does not answer as it should; the text says how."""


class ChangedError(RefusedError):
    """Somebody else has changed the release meanwhile; the text says what to do."""


@dataclass(frozen=True)
class Work:
    """What a promotion needs: the release and its values, and how to ask its pods."""

    connection: Connection
    helm: Helm
    mutex: Mutex
    server: Server
    model: Model
    values: dict[str, Any]
    chart: str
    place: Place
    until: float
    tell: Tell = field(repr=False)
    tried: list[Mapping[str, Any]] = field(default_factory=list)
    """What helm was asked to write: one that failed may have done so."""


def promoted(work: Work, steps: Promotion, question: Question) -> list[Answer]:
    """Load both versions, ask every pod, then move the label.

    Where that fails, the version is unloaded and all is as it was. Raises WorseError for a version
    that answers otherwise, else RefusedError.
    """
    name, version = work.model.name, steps.version
    before = copy.deepcopy(work.values)
    try:
        change(work, steps.both, f"promote {name} {version}: both are loaded")
        answers = every_pod_answers(work, question)
    except LostError:
        raise  # another may be at work by now
    except RefusedError as error:
        raise _taken_back(work, before, error, f"promote {name} {version}: refused") from None
    change(work, steps.moved, f"promote {name} {version}")
    await_label(work, replace(question, label=STABLE))
    return answers


def await_label(work: Work, question: Question) -> None:
    """Wait until the label names the version in every pod. Raises RefusedError.

    A trainer's image that can't look at labels is told so.
    """
    until = max(work.until, time.monotonic() + LABEL_SECONDS)
    try:
        every_pod_answers(replace(work, until=until), question)
    except WorseError as error:
        raise RefusedError(
            f"{error}: the release has it so; its pods look at their list every few seconds"
        ) from None
    except RefusedError as error:
        if "unrecognized arguments: --label" not in str(error):
            raise
        work.tell(
            f"image {work.place.image} can't look at labels: {question.label} is "
            f"{question.version} when the pods have looked at their list, within a minute or so"
        )


def _taken_back(
    work: Work, before: Mapping[str, Any], error: RefusedError, description: str
) -> RefusedError:
    """The error, once the values are what they were; with both where they could not be."""
    if isinstance(error, ChangedError):
        return error
    kind = WorseError if isinstance(error, WorseError) else RefusedError
    try:
        _write(work, before, description, always=True)
    except ChangedError:
        return ChangedError(
            f"{error}; and the values of release {work.server.release} were changed meanwhile, by "
            "something else than tf-cluster: they are left as they are, so it may be loaded still. "
            f"tf-cluster rollback {work.model.name} takes it back"
        )
    except RefusedError as second:
        return RefusedError(f"{error}; and it could not be taken back: {second}")
    return kind(f"{error}; it is unloaded, and all is as it was")


def back(work: Work, wanted: Wanted, stable: int) -> None:
    """Have the release go back to a version that it has loaded. Raises RefusedError."""
    change(work, wanted, f"rollback {work.model.name} to {stable}")


def change(work: Work, wanted: Wanted, description: str) -> None:
    """Have helm write other versions of the model into the server's list, and bring it there.

    Raises RefusedError, LostError.
    """
    _write(work, with_wanted(work.values, work.model.name, wanted), description)


def _write(
    work: Work, values: Mapping[str, Any], description: str, *, always: bool = False
) -> None:
    """Have helm give the release these values, unless it has them.

    `always`: also if it should have them, since a helm that failed may have changed objects.
    Raises ChangedError where the release has other values than were read, or tried to be written.
    """
    work.mutex.hold()
    if always or values != work.values:
        _refuse_changed(work)
        work.tried.append(copy.deepcopy(dict(values)))
        install(work.helm, work.server.release, work.chart, values, description)
        work.values.clear()
        work.values.update(copy.deepcopy(dict(values)))
    work.mutex.hold()
    hasten(work.connection, work.server)


def _refuse_changed(work: Work) -> None:
    """A helm that runs beside this asks for no lock: what it has written is kept."""
    release = work.server.release
    if values_there(work.helm, release) in (work.values, *work.tried):
        return
    shown = f"helm get values {release} -n {work.connection.namespace}"
    raise ChangedError(
        f"the values of release {release} were changed meanwhile, by something else than "
        f"tf-cluster: they are left as they are. {shown} shows them; the same command begins again "
        "from there"
    )


def every_pod_answers(work: Work, question: Question) -> list[Answer]:
    """Ask every pod that is ready, those that come meanwhile too.

    Raises WorseError for an answer that is not as recorded or a version that is not loaded,
    RefusedError when the time is over.
    """
    return ask_all(
        lambda: server_pods(work.connection, work.server),
        lambda pods: _asked(work, question, pods),
        until=work.until,
        words=f"{question.model} {question.version}",
    )


def _asked(work: Work, question: Question, pods: list[ServerPod]) -> list[Answer]:
    work.mutex.hold()
    seconds = max(int(work.until - time.monotonic()), 1)
    hosts = [Host(pod.address) for pod in pods]
    names = {pod.name for pod in pods}

    def are_all_there() -> bool:
        return names <= _staying(server_pods(work.connection, work.server))

    return asked(
        work.connection,
        work.place,
        work.server,
        question,
        hosts,
        seconds,
        work.tell,
        are_all_there,
    )


def ask_all(
    look: Callable[[], list[ServerPod]],
    ask: Callable[[list[ServerPod]], list[Answer]],
    *,
    until: float,
    words: str,
) -> list[Answer]:
    """The answers of all ready pods, each asked once, until there is none that was not asked.

    A pod that is gone when its answer is bad does not count. Where one goes while it is asked
    (NeedlessError), those that are there then are asked anew. Raises WorseError, RefusedError.
    """
    good: dict[str, Answer] = {}
    while True:
        pods = [pod for pod in look() if pod.is_ready and not pod.is_going and pod.address]
        left = [pod for pod in pods if pod.name not in good]
        if not left and pods:
            return list(good.values())
        if time.monotonic() > until:
            raise RefusedError(f"{words}: no pod of the server is ready")
        if not left:
            time.sleep(LOOK_SECONDS)
            continue
        # One alone first: what is wrong with a version is wrong in all pods.
        some = left if good else left[:1]
        try:
            answers = ask(some)
        except NeedlessError:
            continue
        for pod, answer in zip(some, answers, strict=False):
            if answer.ok:
                good[pod.name] = answer
            elif pod.name in _staying(look()):
                raise WorseError(f"{words} in {pod.name}: {answer_words(answer)}")


def _staying(pods: list[ServerPod]) -> set[str]:
    return {pod.name for pod in pods if not pod.is_going}


def answer_words(answer: Answer) -> str:
    """What is wrong with an answer."""
    if answer.problem:
        return answer.problem.rstrip(".")
    if answer.state != SERVES:
        return f"it is {answer.state}"
    return f"its answer differs by {answer.difference:g} from the recorded one"
