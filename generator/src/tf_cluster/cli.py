"""The command `tf-cluster`: reads arguments and prints. Other modules do the work.

Data goes to stdout, messages to stderr. Exit codes are in exits.py.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tf_cluster import __version__, exits
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format
from tf_cluster.printable import printable, printable_lines
from tf_cluster.streams import GoneError, use_streams

if TYPE_CHECKING:
    from tf_cluster.findings.finding import Finding
    from tf_cluster.findings.formats import Unread

app = typer.Typer(
    name="tf-cluster",
    help="Checks a params file, writes values for the Helm chart tf-cluster, or trains here.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ParamsFile = Annotated[str, typer.Argument(metavar="FILE", help="Params file; - is stdin.")]


def main() -> None:
    """Run the command and exit. An unexpected exception is a bug: traceback, exit 2."""
    use_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except GoneError:
        sys.exit(exits.TROUBLE)
    except RefusedError as refused:
        _tell(f"tf-cluster: {printable(str(refused))}")
        sys.exit(exits.TROUBLE)
    except KeyboardInterrupt:
        sys.exit(exits.INTERRUPTED)
    except Exception:
        import traceback

        traceback.print_exc()
        _tell(f"tf-cluster {__version__}: this is a bug in tf-cluster")
        sys.exit(exits.TROUBLE)


def _tell(words: str) -> None:
    """Print a message, which may contain names of files, on stderr."""
    print(printable_lines(words), file=sys.stderr)


def _version(asked: bool) -> None:
    if asked:
        from tf_cluster.versions import CHART_NAME, CHART_RANGE, PARAMS_SCHEMA

        print(f"tf-cluster {__version__}")
        print(f"params schema {PARAMS_SCHEMA}")
        print(f"values schema of the chart {CHART_NAME} {CHART_RANGE}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions of the tool and of what it reads and writes.",
        ),
    ] = False,
) -> None:
    pass


@app.command()
def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to write; - is stdout.")
    ] = "params.yaml",
    name: Annotated[
        str | None, typer.Option(help="The training's name. Default: from FILE.")
    ] = None,
    preset: Annotated[str, typer.Option(help="The preset: small, medium or large.")] = "small",
    module: Annotated[
        str, typer.Option(help="Your program, package.module:ClassName.")
    ] = "tf_cluster_trainer.examples.digits:Digits",
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a short params file to start from."""
    from tf_cluster.starter import checked_starter

    text = checked_starter(file=file, name=name, preset=preset, module=module)
    _write(text, file, force=force)


@app.command()
def validate(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Params files; - is stdin.")
    ],
    form: Annotated[Format, typer.Option("--format", help="How to print findings.")] = Format.TEXT,
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
    """Check params files and print everything that is wrong with them."""
    if unsafe and not (fix or diff):
        raise RefusedError("--unsafe-fixes goes with --fix or --diff")
    if explain and (fix or diff):
        raise RefusedError("--explain goes without --fix and --diff: they write, it tells")
    if files.count("-") > 1:
        raise RefusedError("- is standard input, which can be read once: name it once")
    if fix or diff:
        _fix(files, form, unsafe=unsafe, diff=diff)
    from tf_cluster.check import check
    from tf_cluster.checks import CODES
    from tf_cluster.files import shown_name
    from tf_cluster.findings.finding import Finding
    from tf_cluster.findings.formats import Unread, report

    findings: list[Finding] = []
    unread: list[Unread] = []
    notes: list[str] = []
    for file in files:
        try:
            raw = _read(file)
        except RefusedError as refused:
            unread.append(Unread(shown_name(file), str(refused)))
            continue
        checked = check(shown_name(file), raw)
        findings += checked.findings
        if explain:
            notes += [f"{shown_name(file)}: {note}" for note in checked.notes]
    sys.stdout.write(report(findings, form, unread, CODES))
    sys.stdout.flush()
    for note in notes:
        _tell(printable(note))
    _end_validate(findings, unread, len(files))


@app.command()
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
    force: Annotated[
        bool, typer.Option("--force", help="Keep no copy of an OUT that tf-cluster didn't write.")
    ] = False,
) -> None:
    """Write the chart's values that a params file asks for."""
    from tf_cluster.check import check
    from tf_cluster.expand.expand import preset_name
    from tf_cluster.expand.values_file import is_foreign, values_text
    from tf_cluster.files import is_one_file, keep_copy, refuse_link_out, shown_name
    from tf_cluster.findings.formats import report

    if (check_only or diff) and output == "-":
        raise RefusedError("--check and --diff compare with a file: name it with -o OUT")
    if is_one_file(file, output):
        raise RefusedError(f"{output} is the params file itself: name another file for the values")
    refuse_link_out(Path(output))
    checked = check(shown_name(file), _read(file))
    sys.stderr.write(report(checked.findings, Format.TEXT))
    if not checked.good:
        raise typer.Exit(exits.FINDINGS)
    text = values_text(checked.values, file, preset_name(checked.document.data))
    if not (check_only or diff):
        if not force and output != "-" and is_foreign(Path(output)):
            kept = keep_copy(Path(output))
            _tell(printable(f"{output} was not written by tf-cluster: kept as {kept}"))
        _write(text, output, force=True)
        return
    from tf_cluster.diff import difference

    found = difference(Path(output), text)
    if diff:
        sys.stdout.write(printable_lines(found))
    if found:
        _tell(printable(f"{output} is not what {file} asks for. To write it:"))
        _tell("  " + printable(shlex.join(["tf-cluster", "generate", file, "-o", output])))
        raise typer.Exit(exits.FINDINGS)


@app.command()
def run(
    file: ParamsFile,
    runs: Annotated[
        Path, typer.Option(help="Directory of all runs. This one is in <runs>/<name>/.")
    ] = Path("runs"),
    data: Annotated[
        Path | None, typer.Option(help="Directory of the data. Default: <runs>/<name>/data.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of workers, instead of the file's.")
    ] = None,
    ps: Annotated[
        int | None, typer.Option(min=1, help="Number of parameter servers, instead of the file's.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Total of steps, instead of the file's.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--id", help="Run id, instead of the file's. A new id: afresh.")
    ] = None,
    ports: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help="Ports to choose from.")
    ] = None,
) -> None:
    """Train on this machine, with a local process for each task."""
    from tf_cluster.check import check
    from tf_cluster.files import shown_name
    from tf_cluster.findings.finding import errors
    from tf_cluster.findings.formats import report
    from tf_cluster.local.ports import parse_range
    from tf_cluster.local.run import run_locally
    from tf_cluster.params.values import Flag

    given = {"--workers": workers, "--ps": ps, "--steps": steps, "--id": run_id}
    flags = {Flag(flag): value for flag, value in given.items() if value is not None}
    checked = check(shown_name(file), _read(file), for_cluster=False, flags=flags)
    sys.stderr.write(report(checked.findings, Format.TEXT))
    if errors(checked.findings):
        raise typer.Exit(exits.FINDINGS)
    if not checked.good:
        raise RefusedError("; ".join(finding.words for finding in checked.of_flags))
    for finding in checked.of_flags:
        _tell(f"tf-cluster: warning: {printable(finding.words)}")
    among = parse_range(ports) if ports else None
    effective = checked.values.effective
    raise typer.Exit(run_locally(effective, params_file=file, runs=runs, data=data, ports=among))


def _fix(files: list[str], form: Format, *, unsafe: bool, diff: bool) -> NoReturn:
    """Repair files in place, or print how they would change, and tell what is left."""
    from tf_cluster.checks import CODES
    from tf_cluster.diff import unified
    from tf_cluster.files import STDIO, refuse_link_out, shown_name, write_whole
    from tf_cluster.findings.finding import Finding
    from tf_cluster.findings.formats import Unread, report
    from tf_cluster.fixes import fixed

    if STDIO in files and not diff:
        raise RefusedError("--fix writes into the file: name one (--diff takes standard input)")
    left: list[Finding] = []
    unread: list[Unread] = []
    differs = False
    for file in files:
        try:
            raw = _read(file)
            if not diff:
                refuse_link_out(Path(file))
            done = fixed(shown_name(file), raw, unsafe=unsafe)
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
            _tell(printable(f"{shown_name(file)}: {_count(len(done.repaired), 'finding')} {verb}"))
    where = sys.stderr if diff else sys.stdout
    where.write(report(left, form, unread, CODES))
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
        _tell(f"tf-cluster: {printable(one.why)}")
    bad = len(errors(findings))
    if findings:
        warnings = f", {_count(len(findings) - bad, 'warning')}" if len(findings) > bad else ""
        print(f"{_count(bad, 'error')}{warnings}{_of_repairs(findings)}", file=sys.stderr)
    elif not unread:
        print(f"{_count(files, 'file')} checked: good", file=sys.stderr)
    raise typer.Exit(exits.TROUBLE if unread else exits.FINDINGS if bad or differs else exits.GOOD)


def _of_repairs(findings: Sequence["Finding"]) -> str:
    """How many of them the command can fix, and how."""
    from tf_cluster.fixes import repairable

    safe = len(repairable(findings, unsafe=False))
    guesses = len(repairable(findings, unsafe=True)) - safe
    ways = [f"--fix mends {safe}"] if safe else []
    if guesses:
        ways.append(f"{'' if safe else '--fix '}--unsafe-fixes mends {safe + guesses}")
    return f" ({', '.join(ways)})" if ways else ""


def _read(file: str) -> bytes:
    """The bytes of a params file. Of a file that is too long: one more than the reader accepts."""
    from tf_cluster.files import read_input
    from tf_cluster.yaml.reader import MAX_BYTES

    return read_input(file, MAX_BYTES + 1)


def _write(text: str, output: str, *, force: bool) -> None:
    from tf_cluster.files import STDIO, write_whole

    if output == STDIO:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(output)
    if os.path.lexists(path) and not force:
        raise RefusedError(f"{output} exists: --force overwrites it")
    write_whole(path, text)
    _tell(printable(f"wrote {output}"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
