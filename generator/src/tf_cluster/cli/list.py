"""The command `list`."""

import sys
from enum import Enum
from typing import Annotated

import typer

from tf_cluster.cli.cluster import (
    AllNamespaces,
    Context,
    NamespaceName,
    Output,
    document_text,
    refuse_nowhere,
)
from tf_cluster.cli.common import tell
from tf_cluster.cli.help import ends_with


class _Form(str, Enum):
    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@ends_with("""\
Examples:
  tf-cluster list
  tf-cluster list -A -o wide
  tf-cluster list -n vision -o json

Exit codes: 0 listed, also when there is none; 2 the cluster does not answer, or forbids it.
""")
def list_trainings(
    context: Context = None,
    namespace: NamespaceName = None,
    all_namespaces: AllNamespaces = False,
    output: Annotated[
        _Form,
        typer.Option("--output", "-o", metavar="FORM", help="text, wide, json, yaml or name."),
    ] = _Form.TEXT,
) -> None:
    """Say of each training in a cluster how far it is."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.reading import ALL, trainings
    from tf_cluster.cluster.state import standings
    from tf_cluster.cluster.text import list_json, list_text

    connection = connect(context, namespace)
    snapshot = trainings(connection, ALL if all_namespaces else connection.namespace)
    refuse_nowhere(connection, snapshot.trainings, all_namespaces=all_namespaces)
    if output is _Form.NAME:
        for one in snapshot.trainings:
            print(f"{one.namespace}/{one.name}" if all_namespaces else one.name)
        return
    found, unread = standings(connection, snapshot.trainings)
    for words in unread:
        tell(f"tf-cluster: progress is not known: {words}")
    if output in (_Form.JSON, _Form.YAML):
        sys.stdout.write(document_text(list_json(found), Output(output.value)))
        return
    if not found:
        where = "any namespace" if all_namespaces else f"namespace {connection.namespace}"
        tell(f"no trainings in {where}")
        return
    is_wide = output is _Form.WIDE
    sys.stdout.write(list_text(found, snapshot.at, with_namespace=all_namespaces, is_wide=is_wide))
