"""The command `top`."""

import sys

from tf_cluster.cli.cluster import (
    AllNamespaces,
    Context,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    refuse_nowhere,
)
from tf_cluster.cli.common import tell
from tf_cluster.cli.help import ends_with


@ends_with("""\
Examples:
  tf-cluster top
  tf-cluster top -A
  tf-cluster top -o json

ASKED is what pods that have not ended request, of all namespaces for a node; USED is what \
metrics-server has measured, where it is installed. FREE can still be asked for.

Exit codes: 0 shown; 2 the cluster does not answer, or forbids it.
""")
def top(
    context: Context = None,
    namespace: NamespaceName = None,
    all_namespaces: AllNamespaces = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show CPU, memory and GPUs: of nodes, and of trainings."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.reading import ALL, trainings
    from tf_cluster.cluster.usage import usage
    from tf_cluster.cluster.usage_text import usage_json, usage_text

    connection = connect(context, namespace)
    where = ALL if all_namespaces else connection.namespace
    there = trainings(connection, where).trainings
    refuse_nowhere(connection, there, all_namespaces=all_namespaces)
    found = usage(connection, where, there)
    for words in found.unread:
        tell(f"tf-cluster: not shown: {words}")
    if output is Output.TEXT:
        sys.stdout.write(usage_text(found, with_namespace=all_namespaces))
    else:
        sys.stdout.write(document_text(usage_json(found), output))
