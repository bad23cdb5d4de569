"""The command `rollback`."""

import time
from dataclasses import replace

from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    Output,
    OutputForm,
    leave_when_ended,
    seconds_of,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import (
    Chart,
    Image,
    MaybeTimeout,
    ModelName,
    ServerRelease,
    Tolerance,
    ValuesFile,
    edit_file,
    print_wanted,
    refuse_cluster_options,
    tell_line,
    work_on,
)


@ends_with("""\
Examples:
  tf-cluster rollback digits
  tf-cluster rollback digits --values serving.values.yaml

The version before, which is loaded still, is stable again, and the other one is unloaded. After a \
promotion that was interrupted, its version is unloaded and stable stays what it is.

Exit codes: 0 rolled back; 2 there is no version before, Argo CD manages the release, or helm or \
the cluster does not answer.
""")
def rollback(
    name: ModelName,
    context: Context = None,
    namespace: NamespaceName = None,
    release: ServerRelease = None,
    values: ValuesFile = None,
    tolerance: Tolerance = None,
    timeout: MaybeTimeout = None,
    chart: Chart = None,
    image: Image = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Make the version before the stable one again."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.serving.asking import question_of
    from tf_cluster.cluster.serving.promoting import await_label, back
    from tf_cluster.cluster.serving.promotion import STABLE, rolled_back
    from tf_cluster.cluster.serving.servers import ON_CLAIMS

    server = None
    if values is not None:
        refuse_cluster_options(
            context=context,
            namespace=namespace,
            release=release,
            tolerance=tolerance,
            timeout=timeout,
            chart=chart,
            image=image,
        )
        wanted = edit_file(values, name, lambda model: rolled_back(model)[0])
    else:
        until = time.monotonic() + seconds_of("--timeout", timeout or "10m")
        leave_when_ended()
        connection = connect(context, namespace)
        with work_on(connection, name, release, chart, image, until, "roll back") as work:
            server = work.server
            wanted, stable, gone = rolled_back(work.model)
            back(work, wanted, stable)
            if gone:
                tell_line(f"{work.model.name} {', '.join(map(str, gone))}: unloaded")
            if work.model.kind in ON_CLAIMS:
                question = question_of(work.model, stable, tolerance)
                await_label(work, replace(question, label=STABLE))
    print_wanted(server, name, wanted, output)
