"""The command `predict`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    leave_when_ended,
    seconds_of,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import (
    CHECK_SECONDS,
    Image,
    ServerRelease,
    Timeout,
    Tolerance,
    tell_line,
)
from tf_cluster.exits import RefusedError

if TYPE_CHECKING:
    from tf_cluster.cluster.claim_job import Place
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.serving.asking import Question
    from tf_cluster.cluster.serving.exports import Tensor
    from tf_cluster.cluster.serving.servers import Model


@ends_with("""\
Examples:
  tf-cluster predict digits
  tf-cluster predict digits --input digit.json
  tf-cluster predict digits --version 3 -o json

A Job asks the server over gRPC: what was recorded with the export, whose answer is compared, or \
what FILE.json has: {"inputs": {NAME: VALUES}}, or {"instances": [{NAME: VALUES}]}.

Exit codes: 0 answered; 1 the server refused the request, or answered otherwise than recorded; 2 \
nothing serves MODEL, or it or the cluster does not answer.
""")
def predict(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="The model; or a release that serves one.")
    ],
    context: Context = None,
    namespace: NamespaceName = None,
    release: ServerRelease = None,
    input_file: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="The request; - is stdin.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask this version.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Ask what this label names, not stable.")
    ] = None,
    tolerance: Tolerance = None,
    timeout: Timeout = "2m",
    image: Image = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Send one request to a model, and print the answer."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.serving.asking import SERVES, asked, job_place, seen
    from tf_cluster.cluster.serving.promoting import answer_words
    from tf_cluster.cluster.serving.servers import meant
    from tf_cluster.cluster.serving.service import host_of, service_of
    from tf_cluster.cluster.serving.text import answer_json, answer_text

    if input_file is not None and tolerance is not None:
        raise RefusedError("--tolerance is for the recorded request, and --input names another")
    if version is not None and label is not None:
        raise RefusedError("--version and --label both say which version: name one")
    seconds = seconds_of("--timeout", timeout)
    leave_when_ended()
    connection = connect(context, namespace)
    there = seen(connection)
    server, model = meant(there.servers, name, release)
    place = job_place(there, model.claim, image, server)
    question = _question(connection, place, model, version, label, tolerance, input_file)
    host = host_of(server, service_of(connection, server))
    answer = asked(connection, place, server, question, [host], seconds, tell_line)[-1]
    if output is Output.TEXT:
        sys.stdout.write(answer_text(question, answer))
    else:
        sys.stdout.write(document_text(answer_json(server, question, answer), output))
    sys.stdout.flush()
    if not answer.ok:
        tell_line(f"{model.name} {question.version}: {answer_words(answer)}")
        raise typer.Exit(exits.FINDINGS if answer.state == SERVES else exits.TROUBLE)


def _question(
    connection: "Connection",
    place: "Place",
    model: "Model",
    version: int | None,
    label: str | None,
    tolerance: float | None,
    input_file: str | None,
) -> "Question":
    """What is asked of which version. Raises RefusedError."""
    from tf_cluster.cluster.serving.asking import Question, exports, question_of
    from tf_cluster.cluster.serving.exports import to_serve
    from tf_cluster.cluster.serving.promotion import asked_version
    from tf_cluster.cluster.serving.request import MOST_BYTES, request_text
    from tf_cluster.cluster.serving.servers import ON_CLAIMS
    from tf_cluster.files import read_input, shown_name

    number = asked_version(model, version, label)
    raw = None if input_file is None else read_input(input_file, MOST_BYTES + 1)
    is_on_claim = model.kind in ON_CLAIMS
    if not is_on_claim and raw is None:
        raise RefusedError(
            f"the recorded request of {model.name} is in {model.where}, where it can't be read: "
            "give a request with --input FILE"
        )
    if not is_on_claim and number is None:
        raise RefusedError(f"which version of {model.name} is in {model.where}: say --version N")
    inputs: dict[str, Tensor] = {}
    if is_on_claim and (number is None or raw is not None):
        found = exports(connection, place, model.path, CHECK_SECONDS, tell_line, number)
        export = to_serve(found, number, model.where)
        number, inputs = export.number, dict(export.inputs)
    assert number is not None
    if raw is None:
        return question_of(model, number, tolerance)
    assert input_file is not None
    text = request_text(raw, shown_name(input_file), inputs)
    return Question(model.name, number, request=text)
