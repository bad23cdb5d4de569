"""The command `stop`."""

import sys
import time
from typing import Annotated

import typer

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

LOOK_SECONDS = 2.0


@ends_with("""\
Examples:
  tf-cluster stop digits
  tf-cluster stop digits --timeout 300

The client saves and its Job ends with DeadlineExceeded; cleanup ends the other tasks. The release \
and its claims stay: set run.attempt one higher and upgrade, and it goes on from the saved step. \
-o json prints how it ended, as `list` has it.

Exit codes: 0 it has ended; 2 it had ended before, or has not within --timeout, there is no such \
training, or the cluster does not answer.
""")
def stop(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    timeout: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="Wait for the end so long.")
    ] = 600,
    output: OutputForm = Output.TEXT,
) -> None:
    """End the tasks of a training, with its state saved."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.ending import stop_job
    from tf_cluster.cluster.reading import trainings
    from tf_cluster.cluster.state import Standing, standings
    from tf_cluster.cluster.text import state_line

    until = time.monotonic() + timeout
    connection = connect(context, namespace)

    def look() -> Standing:
        found = trainings(connection, connection.namespace, release_of(name))
        (standing,), _ = standings(connection, [the_training(found, connection, name)])
        return standing

    training = look().training
    jobs = [job for job in training.clients() if not job.has_ended]
    if not training.clients():
        raise RefusedError(f"{name} has no Job to end: tf-cluster delete {name} uninstalls it")
    if not jobs:
        raise RefusedError(f"{name} has ended before: tf-cluster get {name} says how")
    held = [job.name for job in jobs if job.is_suspended]
    if held:
        raise RefusedError(
            f"{held[0]} is suspended, as a queue does it, and has nothing to save: tf-cluster "
            f"delete {name} takes it out of the queue"
        )
    for job in jobs:
        stop_job(connection, training.namespace, job)
        tell(printable(f"{job.name} is told to end; it saves first"))
    while True:
        standing = look()
        words = state_line(standing.state)
        if all(job.has_ended for job in standing.training.clients()):
            sys.stdout.write(ended_text(f"{name} has ended: {words}", standing, output))
            return
        if time.monotonic() > until:
            raise RefusedError(f"{name} has not ended within {timeout} s: it is {words}")
        time.sleep(LOOK_SECONDS)
