"""The command `prune runs`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    Output,
    OutputForm,
    absent,
    document_text,
    seconds_of,
)
from tf_cluster.cli.common import count, tell
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.prune import DryRun, Yes, age_of, confirm
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable

if TYPE_CHECKING:
    from tf_cluster.cluster.claim_job import Place
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.pruning.naming import Names
    from tf_cluster.cluster.pruning.volume import Removal, Run, Volume
    from tf_cluster.cluster.workloads import Object

AT_A_TIME = 400
"""Most runs that one Job is told to remove: they are words of its command line."""


@ends_with("""\
Examples:
  tf-cluster prune runs digits --keep 2 --dry-run
  tf-cluster prune runs digits --older 30d
  tf-cluster prune runs digits --claim digits-log --keep 1
  tf-cluster prune runs --claim team --sub-path runs --older 90d

A pod looks at the volume and says what each run is; after a plan and a question another one \
removes. Never taken: the newest run of a training and that of its newest checkpoint, what was \
written to in the last ten minutes, and what anything in the namespace names.

Exit codes: 0 done, also when nothing was to go; 2 some were not removed, nobody said yes, or the \
pod or the cluster does not answer.
""")
def prune_runs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="The training: its release, or with --claim its directory."
        ),
    ] = "",
    context: Context = None,
    namespace: NamespaceName = None,
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="CLAIM", help="The claim: of a training uninstalled, or of all on it."
        ),
    ] = None,
    sub_path: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where on the claim they are (log.subPath).")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Trainer image, not the trainings' own.")
    ] = None,
    older: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only runs not written to since: 30d.")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Leave the newest N of each training."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="Wait so long for each pod: 90s, 10m, 1h.")
    ] = "10m",
    output: OutputForm = Output.TEXT,
) -> None:
    """Remove old runs from a log volume."""
    from tf_cluster.cluster.claim_job import said_by_job
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.pruning.volume import FAILED, chosen, errand, volume_of
    from tf_cluster.cluster.pruning.volume_text import question, removal_text, runs_json, runs_text
    from tf_cluster.cluster.workloads import objects

    seconds, old = seconds_of("--timeout", timeout), age_of(older, keep)
    if not name and claim is None:
        raise RefusedError("name a training, or a claim with --claim")
    if sub_path is not None and claim is None:
        raise RefusedError("--sub-path goes with --claim: a training says where its runs are")
    connection = connect(context, namespace)
    found = objects(connection, connection.namespace)
    place, training = _place(connection, found, name, claim, sub_path)
    place = replace(place, image=image or place.image)
    if not place.image:
        raise RefusedError(
            f"no training in namespace {place.namespace} says with which image to look at claim "
            f"{place.claim}: name the trainer's with --image"
        )
    of_it = ("--training", training) if training else ()
    look = errand(place, (*of_it, "list"))
    volume = volume_of(said_by_job(connection, place, look, seconds, _tell)[-1][-1])
    runs = chosen(volume, _names(connection, place, volume), old, keep)
    is_text = output is Output.TEXT
    text = runs_text(volume, runs)
    if is_text:
        sys.stdout.write(text)
        sys.stdout.flush()
    removal: Removal | None = None
    going = [one for one in runs if one.goes]
    if (going or volume.left) and not dry_run:
        if not is_text and not yes:
            tell(text.rstrip("\n"))
        confirm(question(going, volume, place.claim), yes=yes)
        runs = chosen(volume, _names(connection, place, volume), old, keep)
        still = [one for one in runs if one.goes]
        for one in (one for one in runs if one.why and any(map(one.is_same, going))):
            _tell(f"{one.training}/{one.run} stays: {one.why}")
        if still or volume.left:
            removal = _removed(connection, place, of_it, still, seconds)
    if not is_text:
        made = runs_json(place, volume, runs, removal, older=old, keep=keep)
        sys.stdout.write(document_text(made, output))
    elif removal is not None:
        sys.stdout.write(removal_text(runs, removal))
    elif not going and not volume.left:
        tell("nothing goes")
    outcomes = removal.outcomes if removal else {}
    failed = ["/".join(key) for key, (word, _) in outcomes.items() if word == FAILED]
    if failed:
        raise RefusedError(f"{count(len(failed), 'run')} not removed: {', '.join(failed)}")


def _place(
    connection: "Connection",
    found: "list[tuple[str, Object]]",
    name: str,
    claim: str | None,
    sub_path: str | None,
) -> "tuple[Place, str]":
    """Where to look, and the training's directory, empty for all. Raises RefusedError."""
    from tf_cluster.cluster.claim_job import node_of, place_for, trainings_places
    from tf_cluster.cluster.pruning.volume import is_name

    known = trainings_places(connection.namespace, found)
    if claim is None:
        own = [one for one in known if name in (one.release, f"{one.release}/{one.chart}")]
        if not own:
            raise RefusedError(
                f"{absent(connection, name)}; of one that is uninstalled: prune runs {name} "
                f"--claim {name}-log"
            )
        several = sorted({f"{one.release}/{one.chart}" for one in own})
        if len(several) > 1:
            raise RefusedError(f"{name} is a release of several trainings: {', '.join(several)}")
        place, training = own[0].place, own[0].directory
    else:
        if name and not is_name(name):
            raise RefusedError(f"{name}: no training has such a directory")
        if not is_name(claim):
            raise RefusedError(f"--claim {claim}: no claim has such a name")
        on_it = [one.place for one in known if one.place.claim == claim]
        paths = sorted({one.sub_path for one in on_it})
        if sub_path is None and len(paths) > 1:
            told = ", ".join(path or "(none)" for path in paths)
            raise RefusedError(f"trainings use several directories of {claim}: --sub-path: {told}")
        place = place_for(known, connection.namespace, claim)
        training = name
        if sub_path is not None:
            place = replace(place, sub_path=sub_path.strip("/"))
    _refuse_unbound(connection, place)
    return replace(place, node=node_of(found, place.claim)), training


def _refuse_unbound(connection: "Connection", place: "Place") -> None:
    """Refuse a claim that is not there, or that no pod has used yet. Raises RefusedError."""
    from tf_cluster.cluster.reading import claim_named

    claim = claim_named(connection, place.namespace, place.claim)
    if claim.phase != "Bound":
        raise RefusedError(f"claim {claim.name} is {claim.phase}: nothing lies on it")


def _names(connection: "Connection", place: "Place", volume: "Volume") -> "Names":
    """Who names runs at this moment."""
    from tf_cluster.cluster.pruning.naming import names
    from tf_cluster.cluster.workloads import objects

    trainings = {one.training for one in volume.runs}
    return names(objects(connection, place.namespace), place.claim, trainings)


def _removed(
    connection: "Connection",
    place: "Place",
    of_it: tuple[str, ...],
    going: "Sequence[Run]",
    seconds: int,
) -> "Removal":
    """Have runs removed, AT_A_TIME by a Job."""
    from tf_cluster.cluster.claim_job import said_by_job
    from tf_cluster.cluster.pruning.volume import arguments, errand, merged, removal_of

    parts = []
    for start in range(0, max(len(going), 1), AT_A_TIME):
        words = [*of_it, "remove"]
        for one in arguments(going[start : start + AT_A_TIME]):
            words += ["--run", json.dumps(one)]
        work = errand(place, words, may_write=True)
        parts.append(removal_of(said_by_job(connection, place, work, seconds, _tell)[-1][-1]))
    return merged(parts)


def _tell(words: str) -> None:
    tell(printable(words))
