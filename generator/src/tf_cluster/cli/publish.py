"""The command `publish`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster.cli.cluster import (
    Context,
    Name,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    leave_when_ended,
    seconds_of,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import (
    Best,
    Image,
    Run,
    Timeout,
    source_of_training,
    tell_line,
    training_place,
)

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.serving.servers import Server


@ends_with("""\
Examples:
  tf-cluster publish digits --to models/digits
  tf-cluster publish digits --best --to models/digits
  tf-cluster publish digits --run 2 --version 3 --to models/digits

A Job copies a version of the export under the next number that is free there, checks it before \
and after, and gives it its name when it is whole. The claim has to be there. Nothing serves it by \
that: tf-cluster promote does.

Exit codes: 0 copied; 2 there is no good export, the copy failed, or the cluster does not answer.
""")
def publish(
    name: Name,
    to: Annotated[
        str, typer.Option("--to", metavar="CLAIM/MODEL", help="Where: a claim and a directory.")
    ],
    context: Context = None,
    namespace: NamespaceName = None,
    run: Run = None,
    best: Best = False,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="This version, not the newest.")
    ] = None,
    timeout: Timeout = "10m",
    image: Image = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Copy an exported model to where servers have theirs."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.serving.asking import job_place, seen
    from tf_cluster.cluster.serving.asking import publish as copied
    from tf_cluster.cluster.serving.text import published_json, published_text
    from tf_cluster.cluster.serving.values import claim_and_path

    seconds = seconds_of("--timeout", timeout)
    target = claim_and_path(to, "--to")
    leave_when_ended()
    connection = connect(context, namespace)
    _refuse_no_claim(connection, target[0])
    there = seen(connection)
    place = training_place(connection, there, name)
    source = source_of_training(place, run, best=best)
    at = job_place(there, source.claim, image)
    made = copied(connection, at, source.path, target, version, seconds, tell_line)
    where = "/".join(target)
    if output is Output.TEXT:
        sys.stdout.write(published_text(made, source.words, where))
        model = target[1].rpartition("/")[2] or "MODEL"
        tell_line(f"next: {_next(there.servers, model, target, name, made.number)}")
    else:
        from_path = f"{source.claim}/{source.path}"
        document = published_json(made, connection.namespace, from_path, where)
        sys.stdout.write(document_text(document, output))


def _next(
    servers: "Sequence[Server]", model: str, target: tuple[str, str], name: str, number: int
) -> str:
    """The command that serves the copy: of a release that serves its directory, else a new one."""
    for one in servers:
        if any((each.claim, each.path) == target for each in one.models):
            return f"tf-cluster promote {model} {number} --release {one.release}"
    return f"tf-cluster serve {name} --claim {'/'.join(target)} --release {model}-stable --install"


def _refuse_no_claim(connection: "Connection", claim: str) -> None:
    """Refuse a claim that is not there. One that waits for its first pod is bound by the Job's."""
    from tf_cluster.cluster.reading import claim_named

    claim_named(connection, connection.namespace, claim)
