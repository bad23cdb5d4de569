"""The command `run`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.common import ParamsFile, read, screen, tell
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format
from tf_cluster.printable import printable


@ends_with("""\
Examples:
  tf-cluster run digits.params.yaml
  tf-cluster run digits.params.yaml --steps 100 --id try
  tf-cluster run digits.params.yaml --data ~/digits --workers 4

Exit codes: 0 trained; 1 errors in FILE, or a task failed; 2 wrong usage, or a program or \
configuration error; 130 and 143 stopped by Ctrl-C or SIGTERM: the same command resumes.
""")
def run(
    file: ParamsFile,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="Where all runs are. This one is in DIR/NAME/.")
    ] = Path("runs"),
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The data, else in data/ beside the run.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many workers, not the file's.")
    ] = None,
    ps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many ps, not the file's.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="A total of N steps, not the file's.")
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Run id, not the file's. A new one trains afresh."),
    ] = None,
    ports: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help="Choose free ports in this range.")
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
    raw = read(file)
    checked = check(shown_name(file), raw, for_cluster=False, flags=flags)
    shown_on = screen(sys.stderr, {file: raw})
    sys.stderr.write(report(checked.findings, Format.TEXT, screen=shown_on))
    if errors(checked.findings):
        raise typer.Exit(exits.FINDINGS)
    if not checked.good:
        raise RefusedError("; ".join(finding.words for finding in checked.of_flags))
    for finding in checked.of_flags:
        tell(f"tf-cluster: warning: {printable(finding.words)}")
    among = parse_range(ports) if ports else None
    effective = checked.values.effective
    raise typer.Exit(run_locally(effective, params_file=file, runs=runs, data=data, ports=among))
