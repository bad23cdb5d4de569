"""The command `plan`."""

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster import exits
from tf_cluster.cli.common import PlannedFile, ReleaseName, not_empty, read, screen
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format

if TYPE_CHECKING:
    from tf_cluster.planning.inputs import Asked
    from tf_cluster.planning.plan import Plan


class Form(str, Enum):
    """How a plan is printed."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"


@ends_with("""\
Examples:
  tf-cluster plan digits.params.yaml
  tf-cluster plan digits.params.yaml --against old.values.yaml
  tf-cluster plan digits.params.yaml --node cpu=8,memory=32Gi
  tf-cluster plan digits.params.yaml --program program.json

Exit codes: 0 good; 1 errors in FILE or OLD, or what is asked for does not fit; 2 wrong usage, or \
a file that can't be read.
""")
def plan(
    file: PlannedFile,
    release: ReleaseName = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NS", help="The release's namespace.")
    ] = "default",
    form: Annotated[
        Form, typer.Option("--format", metavar="FORMAT", help="text, json or mermaid.")
    ] = Form.TEXT,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="OLD",
            callback=not_empty,
            help="Params or values before: what restarts, and why.",
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNTS",
            callback=not_empty,
            help="What a node has (cpu=…,memory=…): do pods fit?",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=1, help="How many such nodes there are, else 1."),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            callback=not_empty,
            help="What `tf-trainer inspect` wrote: is memory enough?",
        ),
    ] = None,
    tf_config: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Print the TF_CONFIG of one task, as worker-0."),
    ] = None,
) -> None:
    """Say what a cluster will hold, and what an upgrade restarts."""
    from tf_cluster.planning.against import compared
    from tf_cluster.planning.demand import packed
    from tf_cluster.planning.log_volume import log_need, log_text
    from tf_cluster.planning.memory import needs, read_program, refuse_another
    from tf_cluster.planning.nodes import MOST_NODES, parsed_node
    from tf_cluster.planning.text import (
        comparison_text,
        fit_text,
        memory_text,
        plan_json,
        plan_mermaid,
        plan_text,
        traffic_text,
    )
    from tf_cluster.planning.traffic import traffic
    from tf_cluster.printable import escaped_json

    if [file, against, program].count("-") > 1:
        raise RefusedError("- is standard input, which can be read once: name it once")
    others = {"--format": form is not Form.TEXT, "--against": against, "--node": node}
    beside = [option for option, given in {**others, "--program": program}.items() if given]
    if tf_config is not None and beside:
        raise RefusedError(f"--tf-config prints its JSON and nothing else: drop {beside[0]}")
    if nodes is not None and not node:
        raise RefusedError("--nodes says how many: say what each has with --node cpu=…,memory=…")
    if nodes and nodes > MOST_NODES:
        raise RefusedError(f"--nodes is {nodes}: {MOST_NODES} at most")
    amounts = parsed_node(node) if node else None
    made = planned_or_exit(file, release, namespace)
    if tf_config is not None:
        print(escaped_json(made.tf_config(tf_config)))
        return
    old = planned_or_exit(against, release, namespace) if against else None
    comparison = compared(old, made) if old else None
    fit = None
    if amounts is not None:
        fit = packed(made.pods, amounts, nodes or 1, colocate=made.release.colocate)
    inspected = read_program(read(program), program) if program else None
    if inspected and program:
        refuse_another(made, inspected, program)
    needed = needs(made, inspected) if inspected else []
    log = log_need(made, inspected) if inspected else None
    moved = traffic(made, inspected) if inspected else None
    if form is Form.JSON:
        sys.stdout.write(escaped_json(plan_json(made, fit, needed, comparison, moved, log)))
    elif form is Form.MERMAID:
        sys.stdout.write(plan_mermaid(made))
    else:
        sys.stdout.write(plan_text(made))
        if old and comparison:
            sys.stdout.write(comparison_text(comparison, old, made))
        if fit and node:
            sys.stdout.write(fit_text(fit, node))
        with_batches = bool(inspected and inspected.example_bytes is not None)
        sys.stdout.write(memory_text(needed, with_batches=with_batches))
        sys.stdout.write(log_text(log) if log else "")
        sys.stdout.write(traffic_text(moved))
    sys.stdout.flush()
    too_little = not all(need.fits for need in needed) or bool(log and not log.fits)
    if (fit and fit.unplaced) or too_little:
        raise typer.Exit(exits.FINDINGS)


def told_values(file: str) -> "Asked":
    """What a file asks for. Prints its findings."""
    from tf_cluster.files import shown_name
    from tf_cluster.findings.formats import report
    from tf_cluster.planning.inputs import asked_values

    raw = read(file)
    asked = asked_values(shown_name(file), raw)
    shown_on = screen(sys.stderr, {file: raw})
    sys.stderr.write(report(asked.findings, Format.TEXT, screen=shown_on))
    return asked


def planned_or_exit(file: str, release: str | None, namespace: str) -> "Plan":
    """The plan of a file. Prints its findings, and exits where one is an error."""
    from tf_cluster.planning.plan import plan as planned

    asked = told_values(file)
    if not asked.good:
        raise typer.Exit(exits.FINDINGS)
    return planned(asked.effective, release=release, namespace=namespace)
