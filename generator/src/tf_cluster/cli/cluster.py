"""What the verbs share that look at a cluster: their options, and the training that is meant."""

import json
import re
import signal
import sys
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tf_cluster import exits
from tf_cluster.exits import RefusedError
from tf_cluster.printable import escaped_json, printable

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.snapshot import Snapshot, Training
    from tf_cluster.cluster.state import Standing

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig, not its current one.")
]
NamespaceName = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NS", help="Not the context's own.")
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Trainings of all namespaces.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The training: its release's name.")]


class Output(str, Enum):
    """What `--output` takes."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


OutputForm = Annotated[
    Output, typer.Option("--output", "-o", metavar="FORM", help="text, json or yaml.")
]


def the_training(snapshot: "Snapshot", connection: "Connection", name: str) -> "Training":
    """The training of a name. Raises RefusedError, with the names there are."""
    found = [one for one in snapshot.trainings if name in (one.name, f"{one.name}/{one.chart}")]
    if len(found) == 1:
        return found[0]
    if found:
        several = " and ".join(f"{one.name}/{one.chart}" for one in found)
        raise RefusedError(f"{name} is a release of several trainings: name {several}")
    raise RefusedError(absent(connection, name))


def refuse_nowhere(
    connection: "Connection", found: Sequence[object], *, all_namespaces: bool
) -> None:
    """Where nothing was found: refuse a namespace that is not there. Raises RefusedError."""
    from tf_cluster.cluster.connection import refuse_no_namespace

    if not found and not all_namespaces:
        refuse_no_namespace(connection)


def absent(connection: "Connection", name: str) -> str:
    """Why there is no training of a name, with those that there are.

    Raises RefusedError where the namespace is not there.
    """
    from tf_cluster.cluster.connection import refuse_no_namespace
    from tf_cluster.cluster.reading import trainings

    refuse_no_namespace(connection)
    there = sorted({one.name for one in trainings(connection, connection.namespace).trainings})
    few = ", ".join(there[:20]) + (", …" if len(there) > 20 else "")
    known = f"there are: {few}" if there else "there is none at all: -n NS looks elsewhere"
    return f"no training {name!r} in namespace {connection.namespace}: {known}"


def release_of(name: str) -> str:
    """The release's name of what stands on the command line: NAME, or NAME/CHART."""
    return name.partition("/")[0]


def document_text(document: Any, form: Output) -> str:
    """A document as JSON or YAML."""
    if form is Output.YAML:
        from tf_cluster.yaml.writer import yaml_text

        return yaml_text(document)
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def ended_text(line: str, standing: "Standing", form: Output) -> str:
    """How a training ended: in a line, or as a document with its row of the list."""
    from tf_cluster.cluster.text import list_json

    if form is Output.TEXT:
        return f"{printable(line)}\n"
    return document_text(list_json([standing]), form)


def leave_when_ended() -> None:
    """End as on Ctrl-C where the system ends the command, so that it says what it leaves."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, _terminated)


def _terminated(_signal: int, _frame: object) -> NoReturn:
    sys.exit(exits.TERMINATED)


def seconds_of(option: str, text: str) -> int:
    """Seconds of `30s`, `10m`, `2h` or `1d`. Raises RefusedError."""
    found = re.fullmatch(r"(\d+)([smhd]?)", text)
    if not found or not int(found[1]):
        raise RefusedError(f"{option} {text}: write it as 30s, 10m, 2h or 1d")
    return int(found[1]) * _UNITS[found[2] or "s"]
