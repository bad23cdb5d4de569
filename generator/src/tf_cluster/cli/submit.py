"""The command `submit`."""

import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import uniform
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
from tf_cluster.cli.common import ParamsFiles, ReleaseName, count, tell, tell_left_out
from tf_cluster.cli.help import ends_with
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.helm import Helm
    from tf_cluster.cluster.mutex import Mutex
    from tf_cluster.cluster.preflight.answer import Answer
    from tf_cluster.cluster.submitting import Made, Submission
    from tf_cluster.planning.plan import Plan

LOCK_SECONDS = 600
"""How long another `submit` is waited for."""
PODS_SECONDS = 120
"""How long the lock is kept for pods that are not made."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


@dataclass(frozen=True)
class _Asked:
    """One training: its file, its plan and the text of its values."""

    file: str
    plan: "Plan"
    values: str


@dataclass(frozen=True)
class _Ways:
    """What the options say."""

    chart: str
    lock: str
    until: float
    mends: bool
    anyway: bool
    most_waiting: int | None


class _NoRoomError(Exception):
    """It does not fit, and that was told. Its text is why."""


@ends_with("""\
Examples:
  tf-cluster submit digits.params.yaml
  tf-cluster submit digits.params.yaml --wait 2h
  tf-cluster submit nightly/ --wait 8h --max-waiting 3

Runs preflight, then helm upgrade --install with the helm on PATH (3.18 or later) and the chart \
that this tool brings. Other submits wait meanwhile, until every pod is there and counts: a Lease \
in the namespace, or in the one that --lock names. Several are submitted one after the other, and \
the first failure ends it. -o json prints what became of each.

Exit codes: 0 submitted; 1 it does not fit, or errors in FILE; 2 wrong usage, helm failed, Argo CD \
manages it, or the cluster does not answer.
""")
def submit(
    files: ParamsFiles,
    release: ReleaseName = None,
    context: Context = None,
    namespace: NamespaceName = None,
    wait: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Ask again for so long where it does not fit now: 2h."),
    ] = None,
    max_waiting: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Of several: at most N whose pods wait for nodes, else 1."
        ),
    ] = 1,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Submit what does not fit now, too.")
    ] = False,
    mend: Annotated[
        bool, typer.Option("--mend", help="Take back what a killed helm has begun.")
    ] = False,
    lock: Annotated[
        str | None,
        typer.Option(metavar="NS", help="Namespace of the Lease; else the training's own."),
    ] = None,
    chart: Annotated[
        str | None, typer.Option(metavar="CHART", help="Another chart than the tool's own.")
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Install or upgrade trainings that fit, one submit at a time."""
    from tf_cluster.cluster.connection import connect, refuse_no_namespace
    from tf_cluster.cluster.helm import find_helm
    from tf_cluster.cluster.submitting import CHART, Outcome
    from tf_cluster.cluster.text import submitted_json
    from tf_cluster.many.find import find

    leave_when_ended()
    found = find(files)
    tell_left_out(found.left_out, found.links)
    if found.unread:
        raise RefusedError(found.unread[0].why)
    if release and len(found.files) > 1:
        raise RefusedError("--release names one training: name one file")
    connection = connect(context, namespace)
    asked = _asked(found.files, release, connection.namespace)
    to_stderr = output is not Output.TEXT
    helm = find_helm(connection.context, connection.namespace, to_stderr=to_stderr)
    refuse_no_namespace(connection)
    ways = _Ways(
        chart=chart or str(CHART),
        lock=lock or connection.namespace,
        until=time.monotonic() + (seconds_of("--wait", wait) if wait else 0),
        mends=mend,
        anyway=anyway,
        most_waiting=max_waiting if found.several else None,
    )
    submissions = [_to_submit(one, connection.namespace) for one in asked]
    ended: _NoRoomError | RefusedError | None = None
    for number, one in enumerate(asked):
        try:
            made, why = _submit(connection, helm, one, ways)
        except (_NoRoomError, RefusedError) as error:
            is_full = isinstance(error, _NoRoomError)
            outcome = Outcome.DOES_NOT_FIT if is_full else Outcome.FAILED
            submissions[number] = replace(submissions[number], outcome=outcome, why=str(error))
            ended = error
            break
        submissions[number] = replace(
            submissions[number], outcome=Outcome.SUBMITTED, made=made, why=why
        )
    rest = [one.name for one in submissions if one.outcome is Outcome.NOT_TRIED]
    if rest:
        tell(printable(f"not submitted: {', '.join(rest)}"))
    if output is not Output.TEXT:
        sys.stdout.write(document_text(submitted_json(submissions), output))
        sys.stdout.flush()
    if isinstance(ended, RefusedError):
        raise ended
    if ended:
        raise typer.Exit(exits.FINDINGS)


def _to_submit(asked: _Asked, namespace: str) -> "Submission":
    from tf_cluster.cluster.submitting import Submission

    plan = asked.plan
    return Submission(asked.file, namespace, plan.release.name, plan.names.attempt)


def _asked(files: Sequence[str], release: str | None, namespace: str) -> list[_Asked]:
    """The plans of all files, before anything is made. Prints findings; exits where one is bad."""
    from tf_cluster.cli.plan import told_values
    from tf_cluster.planning.plan import plan

    made, bad = [], False
    for file in files:
        values = told_values(file)
        bad = bad or not values.good
        if values.good:
            planned = plan(values.effective, release=release, namespace=namespace)
            made.append(_Asked(file, planned, values.text))
    if bad:
        raise typer.Exit(exits.FINDINGS)
    names = [one.plan.release.name for one in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        both = " and ".join(one.file for one in made if one.plan.release.name == twice)
        raise RefusedError(f"{both} are both {twice}: nothing is submitted")
    return made


def _submit(
    connection: "Connection", helm: "Helm", asked: _Asked, ways: _Ways
) -> "tuple[Made | None, str]":
    """Submit one training, as soon as it fits; its pods if they were counted, else why not.

    Raises _NoRoomError, RefusedError.
    """
    from tf_cluster.cluster.mutex import held
    from tf_cluster.cluster.preflight.answer import Verdict, When
    from tf_cluster.cluster.preflight.check import preflight
    from tf_cluster.cluster.preflight.look import look
    from tf_cluster.cluster.submitting import refuse_others

    name, pause = asked.plan.release.name, _FIRST_PAUSE
    is_told = False
    while True:
        lock_until = max(time.monotonic() + LOCK_SECONDS, ways.until)
        with held(connection, ways.lock, lock_until, _tell_holder) as mutex:
            _mend(connection, helm, name, mutex, mends=ways.mends)
            cluster = look(connection)
            refuse_others(cluster, asked.plan)
            answer = preflight(connection, cluster, asked.plan)
            too_many = _too_many(connection, name, ways)
            fits = answer.verdict is not Verdict.DOES_NOT_FIT
            if answer.rather_not_now and time.monotonic() < ways.until:
                fits = False
            is_forced = ways.anyway and answer.when is not When.NEVER
            if not too_many and (fits or is_forced):
                _tell_doubts(answer)
                return _install(connection, helm, asked, ways, mutex)
            why = too_many if too_many and (fits or is_forced) else _words(answer)
        if answer.when is When.NEVER:
            tell(printable(f"{name} does not fit, and never will as things are: {why}"))
            raise _NoRoomError(why)
        if time.monotonic() > ways.until:
            tell(printable(f"{name} does not fit now: {why}"))
            raise _NoRoomError(why)
        if not is_told:
            tell(printable(f"{name} does not fit now, and waits: {why}"))
            is_told = True
        time.sleep(max(min(pause * uniform(0.5, 1), ways.until - time.monotonic()), 0))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _too_many(connection: "Connection", name: str, ways: _Ways) -> str:
    """Which other trainings wait for nodes, where they are as many as may; else empty."""
    from tf_cluster.cluster.submitting import waiting_trainings

    if ways.most_waiting is None:
        return ""
    waiting = waiting_trainings(connection, name)
    if len(waiting) < ways.most_waiting:
        return ""
    verb = "waits" if len(waiting) == 1 else "wait"
    return f"{', '.join(waiting)} {verb} for nodes (--max-waiting {ways.most_waiting})"


def _mend(
    connection: "Connection", helm: "Helm", name: str, mutex: "Mutex", *, mends: bool
) -> None:
    """Refuse a release that a killed helm has left, or take back what it has begun."""
    from tf_cluster.cluster.submitting import mend_release, stuck_release

    stuck = stuck_release(connection, name)
    if stuck is None:
        return
    if not mends:
        raise RefusedError(
            f"release {name} is {stuck.status} since {stuck.created}: a helm works on it, or was "
            "killed. If it was: --mend takes back what it has begun"
        )
    tell(printable(f"release {name} is {stuck.status}: taking it back"))
    mend_release(helm, stuck, mutex)


def _install(
    connection: "Connection", helm: "Helm", asked: _Asked, ways: _Ways, mutex: "Mutex"
) -> "tuple[Made | None, str]":
    """Its pods if they were counted, else why not. Raises RefusedError."""
    from tf_cluster.cluster.mutex import LostError
    from tf_cluster.cluster.submitting import await_pods, install

    plan, name = asked.plan, asked.plan.release.name
    with tempfile.TemporaryDirectory(prefix="tf-cluster-") as folder:
        values = Path(folder, "values.yaml")
        values.write_text(asked.values, encoding="utf-8")
        try:
            install(helm, plan, values, ways.chart, mutex)
        except BaseException:
            where = shlex.join(["-n", connection.namespace])
            tell(printable(f"release {name} may be half made: helm status {name} {where}"))
            raise
    try:
        made = await_pods(connection, plan, PODS_SECONDS, mutex)
    except LostError as error:
        why = f"others may not have counted its pods: {error}"
        tell(printable(f"{name} is submitted, but {why}"))
        return None, why
    except BaseException:
        tell(printable(f"{name} is submitted; its pods were not waited for"))
        raise
    if made.held_back:
        tell(printable(f"{name} is submitted: a queue lets its Jobs start"))
    elif made.is_whole:
        tell(printable(f"{name} is submitted: {count(made.of, 'pod')}"))
    else:
        tell(
            printable(
                f"{name} is submitted, but {made.there} of its {made.of} pods have been made: "
                f"tf-cluster doctor {name} says why"
            )
        )
    return made, ""


def _tell_holder(holder: str) -> None:
    tell(printable(f"waiting for another submit: {holder}"))


def _tell_doubts(answer: "Answer") -> None:
    """Tell what can't be said, and what does not fit and is submitted anyway."""
    from tf_cluster.cluster.preflight.answer import Verdict

    for one in answer.checks:
        if one.verdict is not Verdict.FITS:
            is_known = one.verdict is Verdict.DOES_NOT_FIT
            what = "does not fit now, and is submitted anyway" if is_known else "can't say"
            tell(printable(f"{answer.name}: {what}: {one.subject}: {one.message}"))


def _words(answer: "Answer") -> str:
    """Why it does not fit, or likely does not."""
    return "; ".join(f"{one.subject}: {one.message}" for one in answer.checks if one.when)
