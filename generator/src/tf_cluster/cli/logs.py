"""The command `logs`."""

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster.cli.cluster import (
    Context,
    Name,
    NamespaceName,
    release_of,
    seconds_of,
    the_training,
)
from tf_cluster.cli.common import count, tell
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.logs import Line, Part
    from tf_cluster.cluster.snapshot import Pod, Training

WEB = "TF_CLUSTER_LOGS_URL"
"""The variable with a log viewer's address, with {namespace}, {name} and {attempt} in it."""
_ROLES = ("chief", "worker", "ps", "evaluator")


@ends_with("""\
Examples:
  tf-cluster logs digits
  tf-cluster logs digits --role worker --index 1 --tail 20
  tf-cluster logs digits -f
  tf-cluster logs digits --since 10m --save logs/

Lines of all tasks stand in the order of their times. With -f it goes on until the training has
ended, also when pods are replaced; Ctrl-C ends only the command.

Exit codes: 0 shown; 2 there is no such training or task, or the cluster does not answer.
""")
def logs(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="chief, worker, ps or evaluator alone.")
    ] = None,
    index: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Task N of each role alone.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show lines as they come, until the end.")
    ] = False,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of containers that were restarted.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="The last 30s, 10m, 2h or 1d alone.")
    ] = None,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="The last N lines of each task.")
    ] = None,
    attempt: Annotated[
        str | None, typer.Option(metavar="HASH", help="Of this attempt; all is every one.")
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="With the time of each.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Into a file for each pod, in DIR.")
    ] = None,
    web: Annotated[
        bool, typer.Option("--web", help=f"Print the log viewer's address ({WEB}).")
    ] = False,
) -> None:
    """Show what the tasks of a training have logged, merged by time."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.logs import Part, followed, merged
    from tf_cluster.cluster.reading import trainings

    if role is not None and role not in _ROLES:
        raise RefusedError(f"--role {role}: it is one of {', '.join(_ROLES)}")
    if follow and (previous or save):
        raise RefusedError("-f shows what comes: it goes with neither --previous nor --save")
    part = Part(tail=tail, since=seconds_of("--since", since) if since else None, previous=previous)
    connection = connect(context, namespace)

    def look() -> "Training":
        found = trainings(connection, connection.namespace, release_of(name))
        return the_training(found, connection, name)

    training = look()
    if web:
        print(_viewer(training))
        return
    chosen = _chosen(role, index, attempt)
    pods = chosen(training)
    if not pods and not follow:
        raise RefusedError(f"{name} has no such pod: {_pods_of(training)}")
    shown = [pod for pod in pods if not previous or (pod.main and pod.main.restarts)]
    if previous and not shown:
        raise RefusedError(f"no container of {name} was restarted: leave out --previous")
    if save:
        save_logs(connection, training, shown, part, save)
        return
    if not follow:
        lines = merged(connection, training.namespace, shown, part, _tell_unread)
        _show(lines, timestamps=timestamps)
        return

    def now() -> tuple[list["Pod"], bool]:
        return _seen(look, chosen, pods)

    _show(followed(connection, training.namespace, now, part), timestamps=timestamps)


def _chosen(
    role: str | None, index: int | None, attempt: str | None
) -> Callable[["Training"], list["Pod"]]:
    def chosen(training: "Training") -> list["Pod"]:
        hashed = attempt or training.attempt
        return [
            pod
            for pod in training.pods
            if pod.role in ((role,) if role else _ROLES)
            and index in (None, pod.index)
            and hashed in ("all", "", pod.attempt)
        ]

    return chosen


def _tell_unread(words: str) -> None:
    tell(printable(f"tf-cluster: not shown: {words}"))


def _seen(
    look: Callable[[], "Training"],
    chosen: Callable[["Training"], list["Pod"]],
    known: list["Pod"],
) -> tuple[list["Pod"], bool]:
    """The pods there are, and whether the training goes on: ps end a while after it."""
    from tf_cluster.cluster.connection import ClusterError, ForbiddenError

    try:
        training = look()
    except ForbiddenError:
        raise
    except ClusterError:
        return known, True  # nobody answers at the moment: logs that are open may still come
    except RefusedError:
        return [], False  # it is uninstalled
    client = training.client()
    pods = chosen(training)
    is_over = client is not None and client.has_ended
    waiting = any(not pod.has_ended for pod in pods if pod.role != "ps")
    return pods, waiting or not is_over


def _pods_of(training: "Training") -> str:
    tasks = sorted({pod.task for pod in training.pods_of(training.attempt)})
    if not tasks:
        return "its newest attempt has no pods; those of an ended Job may be deleted"
    return f"attempt {training.attempt} has {', '.join(tasks[:20])}{' …' if tasks[20:] else ''}"


def _show(lines: Iterable["Line"], *, timestamps: bool) -> None:
    for line in lines:
        at = f"{line.time} " if timestamps else ""
        words = printable(line.words.rstrip("\r"), keep="\t")
        sys.stdout.write(f"{at}{line.task} | {words}\n")
        sys.stdout.flush()


def save_logs(
    connection: "Connection",
    training: "Training",
    pods: list["Pod"],
    part: "Part",
    folder: Path,
) -> None:
    """A file for each pod that has a log. None is overwritten; one that can't be read is told.

    Raises RefusedError.
    """
    from tf_cluster.cluster.logs import has_log, merged
    from tf_cluster.files import write_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{folder}: {error.strerror}") from None
    paths = {pod.name: folder / f"{pod.task}.{pod.name}.log" for pod in pods if has_log(pod)}
    for path in paths.values():
        if os.path.lexists(path):
            raise RefusedError(f"{path} exists: name another folder")
    for pod in pods:
        if pod.name in paths:
            lines = merged(connection, training.namespace, [pod], part, _tell_unread)
            write_whole(paths[pod.name], "".join(f"{one.time} {one.words}\n" for one in lines))
    tell(printable(f"wrote {count(len(paths), 'log')} to {folder}"))


def _viewer(training: "Training") -> str:
    template = os.environ.get(WEB, "")
    if not template:
        raise RefusedError(
            f"{WEB} is not set: the address of your log viewer, with {{namespace}}, {{name}} and "
            "{attempt} where they belong"
        )
    known = {"namespace": training.namespace, "name": training.name, "attempt": training.attempt}
    for word in re.findall(r"\{(\w*)\}", template):
        if word not in known:
            raise RefusedError(f"{WEB} has {{{word}}}: it may have {', '.join(known)}")
    return printable(re.sub(r"\{(\w+)\}", lambda found: known[found[1]], template))
