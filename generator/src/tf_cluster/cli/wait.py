"""The command `wait`."""

import sys
import time
from typing import Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.cluster import (
    Context,
    Name,
    NamespaceName,
    Output,
    OutputForm,
    ended_text,
    release_of,
    the_training,
)
from tf_cluster.cli.common import tell
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

LOOK_SECONDS = 5.0


@ends_with("""\
Examples:
  tf-cluster wait digits
  tf-cluster wait digits --timeout 3600 && tf-cluster get digits

Says on stderr how far it is, whenever that changes, and at the end on stdout how it ended: in a \
line, or with -o json as `list` has it.

Exit codes: 0 the training is done; 1 it failed, was stopped, or another attempt took its place; 2 \
it has not ended within --timeout, there is no such training, or the cluster does not answer.
""")
def wait(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    timeout: Annotated[
        int | None, typer.Option(min=1, metavar="SECONDS", help="Wait no longer than this.")
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Wait until a training has ended, and say how."""
    from tf_cluster.cluster.connection import ClusterError, ForbiddenError, connect
    from tf_cluster.cluster.reading import trainings
    from tf_cluster.cluster.state import standings
    from tf_cluster.cluster.text import reason, state_line

    until = None if timeout is None else time.monotonic() + timeout
    connection = connect(context, namespace)
    said = ""
    state = None
    while True:
        try:
            snapshot = trainings(connection, connection.namespace, release_of(name))
            training = the_training(snapshot, connection, name)
            (standing,), _ = standings(connection, [training])
            state = standing.state
        except ClusterError as error:
            # A control plane may be away for a while, but one that never answered is a mistake.
            if state is None or isinstance(error, ForbiddenError):
                raise
            tell(printable(f"{error}; it is asked again"))
        words = state_line(state)
        if state.has_ended:
            why = reason(state)
            line = f"{words}: {why}" if why else words
            sys.stdout.write(ended_text(line, standing, output))
            sys.stdout.flush()
            raise typer.Exit(exits.GOOD if state.status == "done" else exits.FINDINGS)
        if words != said:
            tell(printable(f"{words}{f': {state.why}' if state.status == 'pending' else ''}"))
            said = words
        left = LOOK_SECONDS if until is None else min(until - time.monotonic(), LOOK_SECONDS)
        if left <= 0:
            raise RefusedError(f"{name} has not ended within {timeout} s: it is {words}")
        time.sleep(left)
