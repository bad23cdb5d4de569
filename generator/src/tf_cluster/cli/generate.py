"""The command `generate`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tf_cluster import exits
from tf_cluster.cli.common import (
    FindingsFormat,
    ParamsFiles,
    count,
    next_step,
    screen,
    tell,
    tell_left_out,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format
from tf_cluster.printable import printable, printable_lines

if TYPE_CHECKING:
    from tf_cluster.many.find import Found


_FORCE = "Overwrite OUT even if tf-cluster did not write it (else it is kept as OUT.orig)."


@ends_with("""\
Examples:
  tf-cluster generate digits.params.yaml
  tf-cluster generate digits.params.yaml -o digits.values.yaml
  tf-cluster generate --pairs digits.params.yaml
  tf-cluster generate --check .

Several files, or a folder, are written as pairs.

Exit codes: 0 good; 1 errors in FILE, or --check or --diff saw a difference; 2 wrong usage, or \
a file that can't be read or written.
""")
def generate(
    files: ParamsFiles,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Values file, or their folder; - is stdout."
        ),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Write X.values.yaml beside each X.params.yaml."),
    ] = False,
    check_only: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when values differ.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print how values would change.")
    ] = False,
    form: FindingsFormat = Format.TEXT,
    force: Annotated[bool, typer.Option("--force", help=_FORCE)] = False,
) -> None:
    """Write the chart's values that params files ask for."""
    from tf_cluster.files import is_folder, refuse_no_name
    from tf_cluster.many.find import find

    if output is not None:
        refuse_no_name(output)
    found = find(files)
    tell_left_out(found.left_out, found.links)
    compare = check_only or diff
    if compare and output in (None, "-") and found.files == ("-",):
        raise RefusedError("--check and --diff compare with a file: name it with -o OUT")
    into_folder = output not in (None, "-") and (output.endswith("/") or is_folder(output))
    if not (found.several or pairs or into_folder or (compare and output is None)):
        _generate_one(found.files[0], output or "-", form, compare=compare, diff=diff, force=force)
    if output is not None and not into_folder and (output == "-" or Path(output).suffix):
        raise RefusedError(f"-o {output}: several values files need a folder")
    _generate_pairs(found, output or "", form, compare=compare, diff=diff, force=force)


def _generate_one(
    file: str, output: str, form: Format, *, compare: bool, diff: bool, force: bool
) -> NoReturn:
    from tf_cluster.checks import CODES
    from tf_cluster.files import is_one_file, refuse_link_out
    from tf_cluster.findings.formats import report
    from tf_cluster.many.outcome import outcome
    from tf_cluster.many.values_files import drift, write_values

    if compare and output == "-":
        raise RefusedError("--check and --diff compare with a file: name it with -o OUT")
    if is_one_file(file, output):
        raise RefusedError(f"{output} is the params file itself: name another file for the values")
    refuse_link_out(Path(output))
    one = outcome(file, outputs={file: output}, with_raw=sys.stderr.isatty())
    if one.unread:
        raise RefusedError(one.unread.why)
    findings = list(one.findings)
    differs = None
    if compare and one.values:
        differs = drift(file, output, one.values, _command(file, output))
    if form is not Format.TEXT:
        differing = [differs.finding] if differs else []
        where = sys.stderr if diff or not compare else sys.stdout
        where.write(report([*findings, *differing], form, (), CODES))
    else:
        shown_on = screen(sys.stderr, {file: one.raw})
        sys.stderr.write(report(findings, Format.TEXT, screen=shown_on))
    if not one.values:
        raise typer.Exit(exits.FINDINGS)
    if differs:
        if diff:
            sys.stdout.write(printable_lines(differs.diff))
        if form is Format.TEXT:
            tell(printable(f"{output} is not what {one.name} asks for. To write it:"))
            tell("  " + printable(_command(file, output)))
        raise typer.Exit(exits.FINDINGS)
    if not compare and output == "-":
        sys.stdout.write(one.values)
        sys.stdout.flush()
    elif not compare:
        then = ("helm", "install", one.training, "charts/tf-cluster", "-f", output)
        for words in write_values(output, one.values, force=force, then=next_step(then)):
            tell(printable(words))
    raise typer.Exit(exits.GOOD)


def _generate_pairs(
    found: "Found", folder: str, form: Format, *, compare: bool, diff: bool, force: bool
) -> NoReturn:
    """Write or compare the values file of each params file; none keeps the others from it."""
    from tf_cluster.checks import CODES
    from tf_cluster.files import refuse_link_out
    from tf_cluster.findings.finding import Finding, errors
    from tf_cluster.findings.formats import Unread, report
    from tf_cluster.many.check_files import check_files
    from tf_cluster.many.values_files import drift, values_names, write_values

    if folder:
        refuse_link_out(Path(folder))
    names, nameless = values_names(found.files, folder)
    refused: list[Unread] = [*found.unread, *nameless]
    where = sys.stderr if diff else sys.stdout
    outcomes = check_files([*names], outputs=names, with_raw=where.isatty())
    findings: list[Finding] = []
    if folder and not compare and any(one.values for one in outcomes):
        _make(Path(folder))
    for one in outcomes:
        findings += one.findings
        if one.unread:
            refused.append(one.unread)
        if not one.values:
            continue
        values = names[one.file]
        try:
            if not compare:
                for words in write_values(values, one.values, force=force):
                    tell(printable(words))
                continue
            differs = drift(one.file, values, one.values, _command(one.file, values, folder))
        except RefusedError as error:
            refused.append(Unread(values, str(error)))
            continue
        if differs:
            findings.append(differs.finding)
            if diff:
                sys.stdout.write(printable_lines(differs.diff))
    shown_on = screen(where, {one.file: one.raw for one in outcomes})
    where.write(report(findings, form, refused, CODES, shown_on))
    where.flush()
    for refusal in refused:
        tell(f"tf-cluster: {printable(refusal.why)}")
    bad = len(errors(findings))
    if bad:
        tell(f"{count(bad, 'error')} in {count(len(outcomes), 'file')}")
    raise typer.Exit(exits.TROUBLE if refused else exits.FINDINGS if bad else exits.GOOD)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{folder}: can't be made: {error.strerror}") from error


def _command(file: str, output: str, folder: str | None = None) -> str:
    """The command that writes a values file; into a `folder`, or as a pair where that is empty."""
    how = ["-o", output] if folder is None else ["--pairs", *(["-o", folder] if folder else [])]
    return shlex.join(["tf-cluster", "generate", file, *how])
