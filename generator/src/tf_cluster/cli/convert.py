"""The command `convert`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster.cli.common import TextOrJson, read, write
from tf_cluster.cli.help import ends_with


@ends_with("""\
Examples:
  tf-cluster convert tfjob.yaml -o mnist.params.yaml
  tf-cluster convert jobs.yaml --name mnist -o mnist.params.yaml

Exit codes: 0 written, and the report says what is to do; 2 no TFJob that can be read, several and \
no --name, or OUT exists.

docs/converting.md says what becomes of each field.
""")
def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File with a TFJob; - is stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Params file; - is stdout.")
    ] = "-",
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which TFJob of several: NAME or NAMESPACE/NAME."),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="The trainer image to write in place of the TFJob's."),
    ] = None,
    form: Annotated[
        TextOrJson,
        typer.Option("--format", metavar="FORMAT", help="Print the report as text or json."),
    ] = TextOrJson.TEXT,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.")] = False,
) -> None:
    """Make a params file of a TFJob, and tell what is lost."""
    from tf_cluster.convert.convert import convert as converted
    from tf_cluster.convert.report import json_report, text_report
    from tf_cluster.exits import RefusedError
    from tf_cluster.files import (
        is_one_file,
        refuse_folder,
        refuse_link_out,
        refuse_no_name,
        shown_name,
    )

    refuse_no_name(output)
    refuse_folder(output)
    if is_one_file(file, output):
        raise RefusedError(f"{output} is the TFJob's file itself: name another one with -o OUT")
    refuse_link_out(Path(output))
    made = converted(shown_name(file), read(file), name, image)
    write(made.text, output, force=force)
    if form is TextOrJson.JSON:
        sys.stderr.write(json_report(shown_name(file), made.name, made.entries))
    else:
        sys.stderr.write(text_report(shown_name(file), made.entries))
