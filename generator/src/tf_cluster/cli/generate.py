"""The command `generate`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.common import ParamsFile, read, screen, tell, write
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format
from tf_cluster.printable import printable, printable_lines

_FORCE = "Overwrite OUT even if tf-cluster did not write it (else it is kept as OUT.orig)."


@ends_with("""\
Examples:
  tf-cluster generate digits.params.yaml
  tf-cluster generate digits.params.yaml -o digits.values.yaml
  tf-cluster generate digits.params.yaml -o digits.values.yaml --check

Exit codes: 0 good; 1 errors in FILE, or --check or --diff saw a difference; 2 wrong usage, or \
a file that can't be read or written.
""")
def generate(
    file: ParamsFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Values file; - is stdout.")
    ] = "-",
    check_only: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when OUT differs.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print how OUT would change.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help=_FORCE)] = False,
) -> None:
    """Write the chart's values that a params file asks for."""
    from tf_cluster.check import check
    from tf_cluster.expand.expand import preset_name
    from tf_cluster.expand.values_file import is_foreign, values_text
    from tf_cluster.files import beside, is_one_file, keep_copy, refuse_link_out, shown_name
    from tf_cluster.findings.formats import report

    if (check_only or diff) and output == "-":
        raise RefusedError("--check and --diff compare with a file: name it with -o OUT")
    if is_one_file(file, output):
        raise RefusedError(f"{output} is the params file itself: name another file for the values")
    refuse_link_out(Path(output))
    raw = read(file)
    checked = check(shown_name(file), raw)
    shown_on = screen(sys.stderr, {file: raw})
    sys.stderr.write(report(checked.findings, Format.TEXT, screen=shown_on))
    if not checked.good:
        raise typer.Exit(exits.FINDINGS)
    preset = preset_name(checked.document.data)
    text = values_text(checked.values, file, preset, beside(file, output))
    if not (check_only or diff):
        if not force and output != "-" and is_foreign(Path(output)):
            kept = keep_copy(Path(output))
            tell(printable(f"{output} was not written by tf-cluster: kept as {kept}"))
        release = str(checked.values.data["fullnameOverride"])
        then = ("helm", "install", release, "charts/tf-cluster", "-f", output)
        write(text, output, force=True, then=then)
        return
    from tf_cluster.diff import difference

    found = difference(Path(output), text)
    if diff:
        sys.stdout.write(printable_lines(found))
    if found:
        tell(printable(f"{output} is not what {file} asks for. To write it:"))
        tell("  " + printable(shlex.join(["tf-cluster", "generate", file, "-o", output])))
        raise typer.Exit(exits.FINDINGS)
