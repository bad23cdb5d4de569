"""The command `validate`."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tf_cluster import exits
from tf_cluster.cli.common import (
    FindingsFormat,
    ParamsFiles,
    count,
    read,
    screen,
    tell,
    tell_left_out,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format
from tf_cluster.printable import printable, printable_lines

if TYPE_CHECKING:
    from tf_cluster.findings.finding import Finding
    from tf_cluster.findings.formats import Unread


@ends_with("""\
Examples:
  tf-cluster validate digits.params.yaml
  tf-cluster validate --fix --unsafe-fixes digits.params.yaml
  tf-cluster validate --format github .

Exit codes: 0 good, there may be warnings; 1 errors, or --diff has a fix; 2 wrong usage, or a \
file that can't be read or written.

tf-cluster explain CODE says what a finding means.
""")
def validate(
    files: ParamsFiles,
    form: FindingsFormat = Format.TEXT,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what of the program was read, and what not.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the safe fixes into the files; print what is left.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print what --fix would change.")
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix or --diff: the guesses, too.")
    ] = False,
) -> None:
    """Check params files and print all that is wrong with them."""
    if unsafe and not (fix or diff):
        raise RefusedError("--unsafe-fixes goes with --fix or --diff")
    if explain and (fix or diff):
        raise RefusedError("--explain goes without --fix and --diff: they write, it tells")
    if files.count("-") > 1:
        raise RefusedError("- is standard input, which can be read once: name it once")
    from tf_cluster.checks import CODES
    from tf_cluster.findings.formats import report
    from tf_cluster.many.check_files import check_files
    from tf_cluster.many.find import find

    found = find(files)
    tell_left_out(found.left_out, found.links)
    if fix or diff:
        _fix(found.files, found.unread, form, unsafe=unsafe, diff=diff)
    outcomes = check_files(found.files, with_raw=sys.stdout.isatty())
    findings = [finding for one in outcomes for finding in one.findings]
    unread = [*found.unread, *(one.unread for one in outcomes if one.unread)]
    shown_on = screen(sys.stdout, {one.file: one.raw for one in outcomes})
    sys.stdout.write(report(findings, form, unread, CODES, shown_on))
    sys.stdout.flush()
    for one in outcomes if explain else ():
        for note in one.notes:
            tell(printable(f"{one.name}: {note}"))
    _end_validate(findings, unread, len(outcomes))


def _fix(
    files: Sequence[str],
    missing: Sequence["Unread"],
    form: Format,
    *,
    unsafe: bool,
    diff: bool,
) -> NoReturn:
    """Repair files in place, or print how they would change, and tell what is left."""
    from tf_cluster.checks import CODES
    from tf_cluster.diff import unified
    from tf_cluster.files import STDIO, is_open_here, refuse_link_out, shown_name, write_whole
    from tf_cluster.findings.finding import Finding
    from tf_cluster.findings.formats import Unread, report
    from tf_cluster.fixes import fixed

    if STDIO in files and not diff:
        raise RefusedError("--fix writes into the file: name one (--diff takes standard input)")
    where = sys.stderr if diff else sys.stdout
    left: list[Finding] = []
    unread: list[Unread] = [*missing]
    texts: dict[str, bytes] = {}
    differs = False
    for file in files:
        try:
            raw = read(file)
            if not (diff and (file == STDIO or is_open_here(file))):
                refuse_link_out(Path(file))
            done = fixed(shown_name(file), raw, unsafe=unsafe)
            if where.isatty():
                texts[file] = done.raw
            if done.repaired and not diff:
                write_whole(Path(file), done.raw.decode("utf-8"))
        except RefusedError as refused:
            unread.append(Unread(shown_name(file), str(refused)))
            continue
        left += done.left.findings
        if done.repaired:
            differs = differs or diff
            if diff:
                text = done.raw.decode("utf-8")
                sys.stdout.write(printable_lines(unified(shown_name(file), raw, text, "fixed")))
            verb = "can be fixed" if diff else "fixed"
            tell(printable(f"{shown_name(file)}: {count(len(done.repaired), 'finding')} {verb}"))
    where.write(report(left, form, unread, CODES, screen(where, texts)))
    where.flush()
    if differs and not left and not unread:
        raise typer.Exit(exits.FINDINGS)
    _end_validate(left, unread, len(files), differs=differs)


def _end_validate(
    findings: Sequence["Finding"], unread: Sequence["Unread"], files: int, *, differs: bool = False
) -> NoReturn:
    """Tell how many findings there are, and exit. `differs`: a file would be changed."""
    from tf_cluster.findings.finding import errors

    for one in unread:
        tell(f"tf-cluster: {printable(one.why)}")
    bad = len(errors(findings))
    if findings:
        print(f"{_counted(findings)}{_of_repairs(findings)}", file=sys.stderr)
    elif not unread:
        print(f"{count(files, 'file')} checked: good", file=sys.stderr)
    raise typer.Exit(exits.TROUBLE if unread else exits.FINDINGS if bad or differs else exits.GOOD)


def _counted(findings: Sequence["Finding"]) -> str:
    """`1 error, 2 warnings, 1 advice`."""
    numbers = Counter(finding.severity for finding in findings)
    parts = [count(numbers["error"], "error")]
    if numbers["warning"]:
        parts.append(count(numbers["warning"], "warning"))
    if numbers["advice"]:
        parts.append(f"{numbers['advice']} advice")
    return ", ".join(parts)


def _of_repairs(findings: Sequence["Finding"]) -> str:
    """How many of them the command can fix, and how."""
    from tf_cluster.fixes import repairable

    safe = len(repairable(findings, unsafe=False))
    guesses = len(repairable(findings, unsafe=True)) - safe
    ways = [f"--fix mends {safe}"] if safe else []
    if guesses:
        ways.append(f"{'' if safe else '--fix '}--unsafe-fixes mends {safe + guesses}")
    return f" ({', '.join(ways)})" if ways else ""
