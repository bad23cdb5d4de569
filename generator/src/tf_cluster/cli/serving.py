"""What the verbs of serving share: their options, and the words of a version that was checked."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster.cli.cluster import Output, absent, document_text
from tf_cluster.cli.common import tell
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.claim_job import TrainingsPlace
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.serving.asking import Namespace
    from tf_cluster.cluster.serving.exports import Export
    from tf_cluster.cluster.serving.promoting import Work
    from tf_cluster.cluster.serving.promotion import Wanted
    from tf_cluster.cluster.serving.servers import Model, Server
    from tf_cluster.cluster.serving.values import Source

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="The model, as its server has it.")]
ServerRelease = Annotated[
    str | None, typer.Option(metavar="NAME", help="The server's release, where several have MODEL.")
]
Run = Annotated[
    str | None, typer.Option(metavar="ID", help="The run, not that of the newest attempt.")
]
Best = Annotated[
    bool, typer.Option("--best", help="What the evaluator found best, not the last export.")
]
Image = Annotated[
    str | None, typer.Option(metavar="IMAGE", help="Trainer image of the Jobs; else a training's.")
]
Timeout = Annotated[str, typer.Option(metavar="TIME", help="Wait so long: 90s, 10m, 1h.")]
Tolerance = Annotated[
    float | None,
    typer.Option(min=0, metavar="X", help="How far an answer may be off; else 0.0001."),
]
MaybeTimeout = Annotated[str | None, typer.Option(metavar="TIME", help="Wait so long; else 10m.")]
Chart = Annotated[
    str | None, typer.Option(metavar="CHART", help="Another chart than the tool's own.")
]
ValuesFile = Annotated[
    str | None,
    typer.Option("--values", metavar="FILE", help="Edit this values file, as GitOps has it; stop."),
]
CHECK_SECONDS = 600
"""How long a look at exports may take at least."""


def tell_line(words: str) -> None:
    """Print a line of messages."""
    tell(printable(words))


def training_place(connection: "Connection", namespace: "Namespace", name: str) -> "TrainingsPlace":
    """Where the newest attempt of a training has its runs. Raises RefusedError."""
    own = [
        one for one in namespace.trainings if name in (one.release, f"{one.release}/{one.chart}")
    ]
    if not own:
        raise RefusedError(
            f"{absent(connection, name)}; of one that is uninstalled, or a copy: --claim CLAIM/PATH"
        )
    several = sorted({f"{one.release}/{one.chart}" for one in own})
    if len(several) > 1:
        raise RefusedError(f"{name} is a release of several trainings: {', '.join(several)}")
    return own[0]


def source_of_training(place: "TrainingsPlace", run: str | None, *, best: bool) -> "Source":
    """The exports that are meant. Raises RefusedError for what is no run's id."""
    from tf_cluster.cluster.serving.values import BEST, EXPORT, of_training

    return of_training(place, run or place.run, BEST if best else EXPORT)


def export_words(export: "Export") -> str:
    """What is known of a version: `version 3, step 400, TensorFlow 2.21.0, 1.2 MiB`."""
    from tf_cluster.cluster.pruning.volume import size_text

    parts = [f"version {export.number}"]
    if export.step is not None:
        parts.append(f"step {export.step}")
    if export.tensorflow:
        parts.append(f"TensorFlow {export.tensorflow}")
    return ", ".join((*parts, size_text(export.size)))


def check_seconds(until: float) -> int:
    """How long a look at exports may take, where more time than usual was given."""
    return max(CHECK_SECONDS, int(until - time.monotonic()))


def refuse_cluster_options(**given: object) -> None:
    """Refuse options that say how a cluster is asked, beside --values. Raises RefusedError."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise RefusedError(f"--values edits a file and asks no cluster: leave out --{wrong[0]}")


def edit_file(file: str, model: str, wish: "Callable[[Model], Wanted]") -> "Wanted":
    """Edit a values file as GitOps has it: give a model what is wished of what it has.

    What else stands there stays as it is, comments too. Raises RefusedError.
    """
    from tf_cluster.cluster.serving.values_edit import edited, model_in
    from tf_cluster.files import STDIO, read_input, refuse_link_out, write_whole
    from tf_cluster.yaml.reader import MAX_BYTES

    if file == STDIO:
        raise RefusedError("--values names the file that is edited: it can't be standard input")
    path = Path(file)
    refuse_link_out(path)
    raw = read_input(file, MAX_BYTES + 1)
    wanted = wish(model_in(file, raw, model))
    text = edited(file, raw, model, wanted)
    if text.encode() != raw:
        write_whole(path, text)
        tell_line(f"edited {file}")
    return wanted


def print_wanted(
    server: "Server | None", name: str, wanted: "Wanted", output: Output, *, is_whole: bool = True
) -> None:
    """Print which versions of a model are wanted, and by which labels."""
    from tf_cluster.cluster.serving.text import promotion_json, wanted_text

    if output is Output.TEXT:
        sys.stdout.write(wanted_text(name, wanted))
    else:
        document = promotion_json(server, name, wanted, is_whole=is_whole)
        sys.stdout.write(document_text(document, output))


@contextmanager
def work_on(
    connection: "Connection",
    name: str,
    release: str | None,
    chart: str | None,
    image: str | None,
    until: float,
    verb: str,
) -> "Iterator[Work]":
    """A model of a server that nobody else changes meanwhile. Raises RefusedError."""
    from tf_cluster.cluster.ending import refuse_argo_cd
    from tf_cluster.cluster.helm import find_helm
    from tf_cluster.cluster.mutex import held
    from tf_cluster.cluster.serving.asking import job_place, seen
    from tf_cluster.cluster.serving.promoting import Work
    from tf_cluster.cluster.serving.releasing import CHART, LEASE, refuse_stuck, values_there
    from tf_cluster.cluster.serving.servers import meant

    helm = find_helm(connection.context, connection.namespace)
    with held(connection, connection.namespace, until, tell_holder, LEASE) as mutex:
        there = seen(connection)
        server, model = meant(there.servers, name, release)
        refuse_argo_cd(server.release, server.managed_by, verb)
        refuse_stuck(connection, server.release)
        values = values_there(helm, server.release)
        if values is None:
            raise RefusedError(
                f"Helm has no release {server.release} here: edit the values that it was made of, "
                "with --values FILE"
            )
        yield Work(
            connection=connection,
            helm=helm,
            mutex=mutex,
            server=server,
            model=model,
            values=values,
            chart=chart or str(CHART),
            place=job_place(there, model.claim, image, server),
            until=until,
            tell=tell_line,
        )


def tell_holder(holder: str) -> None:
    """Tell who is waited for."""
    tell_line(f"waiting for another change of servers: {holder}")
