"""The command `get`."""

import sys
from dataclasses import replace

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
from tf_cluster.printable import printable


@ends_with("""\
Examples:
  tf-cluster get digits
  tf-cluster get digits -n vision -o json

Exit codes: 0 shown; 2 there is no such training, or the cluster does not answer, or forbids it.
""")
def get(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show one training: how far it is, tasks, claims."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.doctor.examine import LOG_LINES, examined
    from tf_cluster.cluster.reading import whole, with_logs
    from tf_cluster.cluster.state import standings
    from tf_cluster.cluster.text import get_json, get_text

    connection = connect(context, namespace)
    snapshot = whole(connection, connection.namespace, release_of(name))
    training = the_training(snapshot, connection, name)
    snapshot = with_logs(connection, replace(snapshot, trainings=(training,)), LOG_LINES)
    (standing,), _ = standings(connection, [training])
    if snapshot.unread:
        tell(printable(f"tf-cluster: not all is known: not allowed: {'; '.join(snapshot.unread)}"))
    found = examined(snapshot, snapshot.trainings[0])
    if output is Output.TEXT:
        sys.stdout.write(get_text(standing, snapshot.at, found))
    else:
        sys.stdout.write(document_text(get_json(standing, found), output))
