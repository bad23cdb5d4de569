"""The command `delete`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster.cli.cluster import (
    Context,
    Name,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    release_of,
    seconds_of,
    the_training,
)
from tf_cluster.cli.common import tell
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.snapshot import Training

LOOK_SECONDS = 1.0


@ends_with("""\
Examples:
  tf-cluster delete digits
  tf-cluster delete digits --save digits-logs/
  tf-cluster delete digits --claims

Runs helm uninstall, with the helm on PATH (3.18 or later), and waits until all pods have ended. \
Claims stay, with all that was trained, unless --claims is given. -o json prints which went and \
which stay.

Exit codes: 0 deleted; 2 there is no such training, Argo CD manages it, helm failed, or the name \
was not typed again.
""")
def delete(
    name: Name,
    context: Context = None,
    namespace: NamespaceName = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="First write logs and progress into DIR."),
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Its own claims, too: what was trained is lost.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for the name again, for scripts.")
    ] = False,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="Wait so long: 90s, 10m, 1h.")
    ] = "10m",
    output: OutputForm = Output.TEXT,
) -> None:
    """Uninstall a training, and say what stays."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.ending import (
        delete_claims,
        own_claims,
        refuse_argo_cd,
        refuse_several,
        refuse_used,
    )
    from tf_cluster.cluster.helm import find_helm
    from tf_cluster.cluster.reading import users_of_claims, with_claims
    from tf_cluster.cluster.text import deleted_json

    seconds = seconds_of("--timeout", timeout)
    until = time.monotonic() + seconds
    connection = connect(context, namespace)
    snapshot = with_claims(connection, connection.namespace)
    training = the_training(snapshot, connection, name)
    refuse_argo_cd(training.name, training.managed_by, "delete")
    refuse_several(training, snapshot.trainings)
    to_stderr = output is not Output.TEXT
    helm = find_helm(connection.context, training.namespace, to_stderr=to_stderr)
    own = own_claims(training)
    if claims:
        if snapshot.unread:
            raise RefusedError(f"--claims: not allowed: {'; '.join(snapshot.unread)}")
        refuse_used(training, users_of_claims(connection, training.namespace))
        _confirm(training, [one.name for one in own], yes=yes)
    if save:
        _save(connection, training, save)
    words = ("uninstall", release_of(name), "--wait", "--cascade=foreground")
    helm.run(*words, f"--timeout={seconds}s")
    _await_the_end(connection, training, until)
    if claims:
        delete_claims(connection, training.namespace, own)
        tell(printable(f"deleted {', '.join(one.name for one in own) or 'no claim'}"))
    elif training.claims:
        names = " ".join(one.name for one in training.claims)
        tell(printable(f"the claims stay, with what was trained: {names}"))
    if output is not Output.TEXT:
        document = deleted_json(training, own if claims else ())
        sys.stdout.write(document_text(document, output))


def _await_the_end(connection: "Connection", training: "Training", until: float) -> None:
    """Until nothing of it is left: a ps waits for the chief's last save. Raises RefusedError."""
    from tf_cluster.cluster.reading import trainings

    while True:
        there = trainings(connection, training.namespace, training.name).trainings
        left = [one for one in there if one.chart == training.chart]
        if not left:
            return
        if time.monotonic() > until:
            pods = ", ".join(pod.name for pod in left[0].pods[:5]) or "objects without pods"
            raise RefusedError(f"{training.name} is uninstalled, but not all has ended: {pods}")
        time.sleep(LOOK_SECONDS)


def _confirm(training: "Training", names: list[str], *, yes: bool) -> None:
    """Have the name typed again. Raises RefusedError."""
    if yes or not names:
        return
    if not sys.stdin.isatty():
        raise RefusedError("--claims asks for the name again on a terminal; in a script: --yes")
    tell(printable(f"This deletes {', '.join(names)}, and all that {training.name} has trained."))
    try:
        typed = input("Type the name of the training: ").strip()
    except EOFError:
        typed = ""
    if typed != training.name:
        raise RefusedError("another name was typed: nothing is deleted")


def _save(connection: "Connection", training: "Training", folder: Path) -> None:
    """Logs of all pods, and what `get` says. Raises RefusedError; nothing is deleted then."""
    from tf_cluster.cli.logs import save_logs
    from tf_cluster.cluster.logs import WHOLE
    from tf_cluster.cluster.state import standings
    from tf_cluster.cluster.text import get_json
    from tf_cluster.files import write_whole

    path = folder / "training.json"
    if os.path.lexists(path):
        raise RefusedError(f"{path} exists: name another folder")
    (standing,), _ = standings(connection, [training])
    save_logs(connection, training, list(training.pods), WHOLE, folder)
    document = json.dumps(get_json(standing, ()), indent=2)
    write_whole(path, f"{document}\n")
