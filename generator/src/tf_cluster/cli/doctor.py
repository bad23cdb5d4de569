"""The command `doctor`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.cluster import (
    AllNamespaces,
    Context,
    NamespaceName,
    Output,
    OutputForm,
    absent,
    document_text,
    refuse_nowhere,
    release_of,
)
from tf_cluster.cli.common import count, refuse_existing, tell, write
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError

if TYPE_CHECKING:
    from tf_cluster.cluster.snapshot import Snapshot


@ends_with("""\
Examples:
  tf-cluster doctor digits
  tf-cluster doctor -A
  tf-cluster doctor digits --save digits.snapshot.json
  tf-cluster doctor --from digits.snapshot.json

docs/doctor.md has every code. A saved snapshot has no Secret, ConfigMap, environment or argument, \
and what looks like a password in logs and events is hidden.

Exit codes: 0 nothing is wrong; 1 something is; 2 there is no such training, or the cluster does \
not answer.
""")
def doctor(
    name: Annotated[
        str,
        typer.Argument(metavar="[NAME]", help="A training or a server; else all of the namespace."),
    ] = "",
    context: Context = None,
    namespace: NamespaceName = None,
    all_namespaces: AllNamespaces = False,
    output: OutputForm = Output.TEXT,
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write what was seen, for somebody else.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite FILE of --save, if it is there.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--from", metavar="FILE", help="Look at what was saved instead.")
    ] = None,
) -> None:
    """Find out why trainings do not go on, and say what mends it."""
    from tf_cluster.cluster.doctor.bundle import bundle, read_bundle
    from tf_cluster.cluster.doctor.examine import everything
    from tf_cluster.cluster.doctor.text import findings_json, findings_text

    if force and not save:
        raise RefusedError("--force goes with --save")
    if save:
        refuse_existing(save, force=force)
    if source and (context or namespace or all_namespaces or save):
        raise RefusedError("--from looks at a file: it goes with NAME and --output alone")
    if source:
        snapshot = _only(read_bundle(source), name, source)
    else:
        snapshot = _seen(name, context, namespace, all_namespaces=all_namespaces)
    for words in snapshot.unread:
        tell(f"tf-cluster: not looked at: {words}")
    if save:
        write(bundle(snapshot), save, force=force)
    found = list(everything(snapshot))
    if output is Output.TEXT:
        for training, findings in found:
            sys.stdout.write(findings_text(training, findings))
        sys.stdout.flush()
        ill = sum(bool(findings) for _, findings in found)
        beside = f" and {count(len(snapshot.servers), 'server')}" if snapshot.servers else ""
        looked = f"{count(len(snapshot.trainings), 'training')}{beside} looked at"
        tell(f"{looked}, {ill or 'none'} with findings")
    else:
        sys.stdout.write(document_text(findings_json(snapshot, found), output))
    if any(findings for _, findings in found):
        raise typer.Exit(exits.FINDINGS)


def _seen(
    name: str, context: str | None, namespace: str | None, *, all_namespaces: bool
) -> "Snapshot":
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.doctor.examine import LOG_LINES
    from tf_cluster.cluster.reading import ALL, whole, with_logs

    connection = connect(context, namespace)
    where = ALL if all_namespaces else connection.namespace
    snapshot = whole(connection, where, release_of(name))
    found = (*snapshot.trainings, *snapshot.servers)
    if name and not found:
        raise RefusedError(absent(connection, name))
    refuse_nowhere(connection, found, all_namespaces=all_namespaces)
    return with_logs(connection, snapshot, LOG_LINES)


def _only(snapshot: "Snapshot", name: str, file: str) -> "Snapshot":
    from dataclasses import replace

    chosen = tuple(one for one in snapshot.trainings if name in ("", one.name))
    servers = tuple(one for one in snapshot.servers if name in ("", one.name))
    if name and not chosen and not servers:
        every = (*snapshot.trainings, *snapshot.servers)
        there = ", ".join(sorted({one.name for one in every})) or "none"
        raise RefusedError(f"{file} has no training {name!r}: there are: {there}")
    return replace(snapshot, trainings=chosen, servers=servers)
