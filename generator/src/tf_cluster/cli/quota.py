"""The command `quota`."""

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
  tf-cluster quota
  tf-cluster quota -n vision -o json

LEFT is what new pods may still ask for. A training that asks for more is not refused as a whole: \
some of its pods are not made, and `tf-cluster doctor` says TFD101.

Exit codes: 0 shown, also when there is none; 2 the cluster does not answer, or forbids it.
""")
def quota(
    context: Context = None,
    namespace: NamespaceName = None,
    all_namespaces: AllNamespaces = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show what a namespace may use, uses, and has left."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.reading import ALL, quotas
    from tf_cluster.cluster.usage_text import quota_json, quota_text

    connection = connect(context, namespace)
    where = ALL if all_namespaces else connection.namespace
    found = quotas(connection, where)
    refuse_nowhere(connection, found, all_namespaces=all_namespaces)
    if output is not Output.TEXT:
        sys.stdout.write(document_text(quota_json(found), output))
    elif found:
        sys.stdout.write(quota_text(found, with_namespace=all_namespaces))
    else:
        inside = "any namespace" if all_namespaces else f"namespace {where}"
        tell(f"no quota in {inside}: pods may ask for all that nodes have")
