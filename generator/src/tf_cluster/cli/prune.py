"""The command `prune`, without the one below it."""

import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tf_cluster.cli.cluster import (
    AllNamespaces,
    Context,
    NamespaceName,
    Output,
    OutputForm,
    document_text,
    seconds_of,
)
from tf_cluster.cli.common import count, tell
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.helm import Helm
    from tf_cluster.cluster.pruning.releases import Terms, Verdict

AT_ONCE = 4
"""Most helms that are asked at the same time."""
UNINSTALL_SECONDS = 300

Older = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what ended longer ago: 12h, 7d.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, for scripts.")]


@ends_with("""\
Examples:
  tf-cluster prune --older 7d --dry-run
  tf-cluster prune --older 7d --keep 5
  tf-cluster prune --keep 5 --failed -A --yes

Uninstalls trainings that have ended, after a plan and a question. Where --older and --keep are \
given both hold. Never taken: claims, what runs, waits or serves, what Argo CD or Flux manages, \
what Helm did not make. `tf-cluster prune runs` removes what trainings left on a claim.

Exit codes: 0 done, also when nothing was to go; 2 some were not uninstalled, nobody said yes, or \
the cluster does not answer.
""")
def prune(
    context_of_call: typer.Context,
    context: Context = None,
    namespace: NamespaceName = None,
    all_namespaces: AllNamespaces = False,
    older: Older = None,
    keep: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Leave the N of each namespace that ended last."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Also what failed or was stopped.")
    ] = False,
    pages: Annotated[
        bool, typer.Option("--pages", help="Also with a TensorBoard or notebook that serves.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Uninstall trainings that ended a while ago."""
    if context_of_call.invoked_subcommand is not None:
        refuse_options_before(context_of_call)
        return
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.helm import find_helm
    from tf_cluster.cluster.pruning.releases import Terms, planned
    from tf_cluster.cluster.pruning.releases_text import plan_json, plan_text
    from tf_cluster.cluster.reading import ALL, clock, trainings

    terms = Terms(age_of(older, keep), keep, failed=failed, pages=pages)
    if all_namespaces and namespace is not None:
        raise RefusedError("--all-namespaces and --namespace: give one of them")
    connection = connect(context, namespace)
    where = ALL if all_namespaces else connection.namespace
    now = clock(connection)
    snapshot = trainings(connection, where)
    helm = find_helm(connection.context, connection.namespace)
    records = helm.releases(everywhere=all_namespaces) if snapshot.trainings else ()
    verdicts = _looked_into(planned(snapshot.trainings, records, now, terms), helm, terms)
    going = [one for one in verdicts if one.goes]
    outcomes: dict[tuple[str, str], tuple[str, str]] = {}
    is_text = output is Output.TEXT
    if not verdicts and is_text:
        tell("no trainings in " + ("any namespace" if all_namespaces else f"namespace {where}"))
        return
    if is_text:
        sys.stdout.write(plan_text(verdicts, now, with_namespace=all_namespaces))
        sys.stdout.flush()
    if going and not dry_run:
        if not is_text and not yes:
            tell(plan_text(verdicts, now, with_namespace=all_namespaces).rstrip("\n"))
        confirm(f"uninstall {count(len(going), 'release')}; claims stay", yes=yes)
        outcomes = _carried_out(connection, helm, going, terms, by_name=is_text)
    elif is_text and not going:
        tell("nothing goes")
    if not is_text:
        sys.stdout.write(document_text(plan_json(verdicts, now, terms, outcomes), output))
    _end_with(outcomes)


def age_of(older: str | None, keep: int | None) -> int | None:
    """`--older` in seconds. Raises RefusedError where neither it nor `--keep` is given."""
    if older is None and keep is None:
        raise RefusedError(
            "say what may go: --older 7d (what ended longer ago), --keep 5 (all but the newest "
            "five), or both"
        )
    return None if older is None else seconds_of("--older", older)


def confirm(what: str, *, yes: bool) -> None:
    """Have `yes` typed. Raises RefusedError where it is not, or nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError("nobody can be asked here: --yes in a script; nothing is removed")
    tell(printable(f"This will {what}."))
    sys.stderr.write("Type yes to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise RefusedError("that was not yes: nothing is removed")


def refuse_options_before(context: typer.Context) -> None:
    """Refuse options between `prune` and its own command, which would count for nothing."""
    for param in context.command.params:
        source = context.get_parameter_source(str(param.name))
        if source is not None and source.name == "COMMANDLINE":
            name = context.invoked_subcommand
            raise RefusedError(f"{param.opts[0]} has to come after `prune {name}`, not before it")


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the first is only noted, the second raises KeyboardInterrupt."""
    asked = False

    def note(*_: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        tell("interrupted: what was begun is brought to its end (Ctrl-C again: not even that)")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _looked_into(verdicts: tuple["Verdict", ...], helm: "Helm", terms: "Terms") -> "list[Verdict]":
    """The verdicts after a look at what Helm would remove with those that go."""
    from dataclasses import replace

    from tf_cluster.cluster.pruning.releases import held_to_manifest

    def look(one: "Verdict") -> "Verdict":
        if not one.goes:
            return one
        try:
            manifest = replace(helm, namespace=one.namespace).manifest(one.name, one.revision)
        except RefusedError as error:
            return replace(one, why=f"what Helm would remove can't be read: {error}")
        return held_to_manifest(one, manifest, terms)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(look, verdicts))


def _carried_out(
    connection: "Connection", helm: "Helm", going: "list[Verdict]", terms: "Terms", *, by_name: bool
) -> dict[tuple[str, str], tuple[str, str]]:
    """What became of each release, and why it is there where it is. Tells of each as it goes."""
    from tf_cluster.cluster.pruning.releases_text import FAILED, NOT_TRIED, STAYS

    outcomes: dict[tuple[str, str], tuple[str, str]] = {}
    name = ""
    try:
        with interruptible() as is_interrupted:
            for one in going:
                key, name = (one.namespace, one.name), f"{one.namespace}/{one.name}"
                if is_interrupted():
                    outcomes[key] = (NOT_TRIED, "it was interrupted")
                    continue
                outcomes[key] = (FAILED, "helm was left alone: what became of it is not known")
                try:
                    outcomes[key] = _uninstalled(connection, helm, one, terms)
                except RefusedError as error:
                    outcomes[key] = (FAILED, str(error))
                word, why = outcomes[key]
                line = printable(f"{name} {word}: {why}" if why else f"{word} {name}")
                if by_name and word not in (FAILED, STAYS):
                    print(line, flush=True)
                else:
                    tell(line)
    except KeyboardInterrupt:
        for one in going:
            outcomes.setdefault((one.namespace, one.name), (NOT_TRIED, "it was interrupted"))
        tell(printable(f"{name}: helm was left alone: what became of it is not known"))
    return outcomes


def _uninstalled(
    connection: "Connection", helm: "Helm", planned: "Verdict", terms: "Terms"
) -> tuple[str, str]:
    """Look at a release once more, and uninstall it. Raises RefusedError."""
    from dataclasses import replace

    from tf_cluster.cluster.pruning.releases import held_to_now
    from tf_cluster.cluster.pruning.releases_text import STAYS, UNINSTALLED
    from tf_cluster.cluster.reading import trainings

    here = replace(helm, namespace=planned.namespace)
    record = here.release(planned.name)
    found = trainings(connection, planned.namespace, planned.name).trainings
    verdict = held_to_now(planned, found, record, terms)
    if not verdict.goes:
        return (STAYS, verdict.why)
    wait = ("--wait", "--cascade=foreground", f"--timeout={UNINSTALL_SECONDS}s")
    try:
        here.said("uninstall", planned.name, *wait)
    except RefusedError as error:
        more = f"helm uninstall {planned.name} -n {planned.namespace} --debug"
        raise RefusedError(f"{error} ({more} says more)") from None
    return (UNINSTALLED, "")


def _end_with(outcomes: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Raise what the outcomes end the command with, if they were not all as planned."""
    from tf_cluster.cluster.pruning.releases_text import FAILED, NOT_TRIED

    left = [f"{where}/{name}" for (where, name), (word, _) in outcomes.items() if word == NOT_TRIED]
    if left:
        tell(printable(f"interrupted: not tried are {', '.join(left)}"))
        raise KeyboardInterrupt
    failed = [f"{where}/{name}" for (where, name), (word, _) in outcomes.items() if word == FAILED]
    if failed:
        raise RefusedError(f"{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}")
