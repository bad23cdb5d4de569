"""The command `promote`."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    Output,
    OutputForm,
    leave_when_ended,
    seconds_of,
)
from tf_cluster.cli.common import count
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import (
    Chart,
    Image,
    MaybeTimeout,
    ModelName,
    ServerRelease,
    Tolerance,
    ValuesFile,
    check_seconds,
    edit_file,
    export_words,
    print_wanted,
    refuse_cluster_options,
    tell_line,
    work_on,
)
from tf_cluster.exits import RefusedError

if TYPE_CHECKING:
    from tf_cluster.cluster.serving.promoting import Work
    from tf_cluster.cluster.serving.promotion import Promotion


@ends_with("""\
Examples:
  tf-cluster promote digits 4
  tf-cluster promote digits 4 --tolerance 0.001
  tf-cluster promote digits 4 --values serving.values.yaml

Loads the version beside the stable one, waits until every pod of the server has it, sends each \
the recorded request, and moves the label stable. The version before stays loaded, as previous. \
One that answers otherwise is unloaded again. What was interrupted goes on with the same command, \
and rollback takes it back.

With --values it edits a file and asks no cluster: it lets both be loaded, and when it is called \
again it moves the label.

Exit codes: 0 promoted, or stable already; 1 the version answers otherwise, and is unloaded; 2 \
there is no such version, Argo CD manages the release, or helm or the cluster does not answer.
""")
def promote(
    name: ModelName,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Its new version.")],
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
    """Make a version of a model the stable one, once it answers well."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.serving.promoting import WorseError
    from tf_cluster.cluster.serving.promotion import half_words, is_stable, wanted_of

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
        _edit(values, name, version, output)
        return
    until = time.monotonic() + seconds_of("--timeout", timeout or "10m")
    leave_when_ended()
    connection = connect(context, namespace)
    with work_on(connection, name, release, chart, image, until, "promote") as work:
        server, name = work.server, work.model.name
        if is_stable(work.model, version):
            tell_line(f"{name} {version} is stable already")
            print_wanted(server, name, wanted_of(work.model), output)
            return
        steps = _checked(work, version)
        try:
            _promote(work, steps, tolerance)
        except WorseError as error:
            tell_line(str(error))
            raise typer.Exit(exits.FINDINGS) from None
        except RefusedError:
            raise
        except BaseException:
            tell_line(f"interrupted: {half_words(work.model, version)}")
            raise
    print_wanted(server, name, steps.moved, output)


def _checked(work: "Work", version: int) -> "Promotion":
    """The steps to a version that a server may load. Raises RefusedError."""
    from tf_cluster.cluster.serving.asking import exports
    from tf_cluster.cluster.serving.exports import (
        refuse_older_server,
        refuse_small_batches,
        to_serve,
    )
    from tf_cluster.cluster.serving.promotion import answering, promotion
    from tf_cluster.cluster.serving.servers import ON_CLAIMS

    model, server = work.model, work.server
    if model.kind not in ON_CLAIMS:
        raise RefusedError(
            f"the versions of {model.name} are in {model.where}, where they can't be checked: "
            "another one is another source in the values"
        )
    promotion(model, version)  # refuses at once what an interrupted one forbids
    # Of a policy that names no version, the newest answers now.
    every = answering(model, None) is None
    seconds, one = check_seconds(work.until), None if every else version
    found = exports(work.connection, work.place, model.path, seconds, work.tell, one, every=every)
    export = to_serve(found, version, model.where)
    refuse_older_server(server.image, export)
    refuse_small_batches(work.values.get("batching") or {}, export)
    tell_line(f"{model.name}: {export_words(export)}: checked")
    good = [one.number for one in found.seen if not one.problem]
    return promotion(model, version, good[0])


def _promote(work: "Work", steps: "Promotion", tolerance: float | None) -> None:
    from tf_cluster.cluster.serving.asking import question_of
    from tf_cluster.cluster.serving.promoting import promoted

    old = "nothing was stable before" if steps.old is None else f"{steps.old} stays loaded"
    tell_line(f"loading {work.model.name} {steps.version}; {old}")
    answers = promoted(work, steps, question_of(work.model, steps.version, tolerance))
    differences = [one.difference for one in answers if one.difference is not None]
    pods = "1 pod answers" if len(answers) == 1 else f"{len(answers)} pods answer"
    told = f", at most {max(differences):g} from what was recorded" if differences else ""
    if not any(one.is_one for one in answers):
        pods = f"{count(len(answers), 'pod')} loaded it, and nothing was asked: none is recorded"
    tell_line(f"{pods}{told}: stable is {steps.version}")


def _edit(file: str, name: str, version: int, output: Output) -> None:
    """Edit a values file by one step, and say which is next. Raises RefusedError."""
    from tf_cluster.cluster.serving.promotion import STABLE, next_step

    wanted = edit_file(file, name, lambda model: next_step(model, version))
    is_whole = wanted.labels.get(STABLE) == version
    print_wanted(None, name, wanted, output, is_whole=is_whole)
    if not is_whole:
        tell_line(
            f"when it is rolled out, and tf-cluster predict {name} --version {version} answers "
            "well, the same command moves the label"
        )
