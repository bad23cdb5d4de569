"""The command `events`."""

import sys
from typing import Annotated

import typer

from tf_cluster.cli.cluster import (
    Context,
    Name,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    release_of,
    the_training,
)
from tf_cluster.cli.common import tell
from tf_cluster.cli.help import ends_with


@ends_with("""\
Examples:
  tf-cluster events digits
  tf-cluster events digits --warnings
  tf-cluster events digits -o json

Kubernetes keeps events for an hour, unless its administrator chose another time.

Exit codes: 0 shown; 2 there is no such training, or the cluster does not answer, or forbids it.
""")
def events(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    warnings: Annotated[bool, typer.Option("--warnings", help="Warnings alone.")] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show the events of all objects of a training, the newest last."""
    from tf_cluster.cluster import reading
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.events import events_of
    from tf_cluster.cluster.text import events_json, events_text

    connection = connect(context, namespace)
    snapshot = reading.with_claims(connection, connection.namespace, release_of(name))
    training = the_training(snapshot, connection, name)
    found = [
        event
        for event in events_of(training, reading.events(connection, connection.namespace))
        if event.is_warning or not warnings
    ]
    if not found:
        tell(f"no events of {name}: Kubernetes keeps them for about an hour")
    if output is not Output.TEXT:
        sys.stdout.write(document_text(events_json(found), output))
    elif found:
        sys.stdout.write(events_text(found, snapshot.at))
