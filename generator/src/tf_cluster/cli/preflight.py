"""The command `preflight`."""

import sys

import typer

from tf_cluster import exits
from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
)
from tf_cluster.cli.common import PlannedFile, ReleaseName
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.plan import planned_or_exit


@ends_with("""\
Examples:
  tf-cluster preflight digits.params.yaml
  tf-cluster preflight digits.values.yaml -n vision -o json

Looked at: names, APIs, limit ranges, quotas, claims and classes, what pods name, and nodes with \
what pods already ask of them. Three answers: fits; does not fit (never, or not now); can't say.

Exit codes: 0 it fits, or that can't be said; 1 it does not fit, or errors in FILE; 2 wrong usage, \
or the cluster does not answer.
""")
def preflight(
    file: PlannedFile,
    release: ReleaseName = None,
    context: Context = None,
    namespace: NamespaceName = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say whether a training would fit in the cluster now."""
    from tf_cluster.cluster.connection import connect, refuse_no_namespace
    from tf_cluster.cluster.preflight.answer import Verdict
    from tf_cluster.cluster.preflight.check import preflight as asked
    from tf_cluster.cluster.preflight.look import look
    from tf_cluster.cluster.preflight.text import answer_json, answer_text

    connection = connect(context, namespace)
    planned = planned_or_exit(file, release, connection.namespace)
    refuse_no_namespace(connection)
    answer = asked(connection, look(connection), planned)
    if output is Output.TEXT:
        sys.stdout.write(answer_text(answer))
    else:
        sys.stdout.write(document_text(answer_json(answer), output))
    sys.stdout.flush()
    if answer.verdict is Verdict.DOES_NOT_FIT:
        raise typer.Exit(exits.FINDINGS)
