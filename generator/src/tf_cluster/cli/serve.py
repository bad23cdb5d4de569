"""The command `serve`."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tf_cluster.cli.cluster import (
    Context,
    NamespaceName,
    leave_when_ended,
    seconds_of,
)
from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import (
    Best,
    Chart,
    Image,
    Run,
    Tolerance,
    check_seconds,
    export_words,
    source_of_training,
    tell_holder,
    tell_line,
    training_place,
)
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable_lines

if TYPE_CHECKING:
    from tf_cluster.cluster.claim_job import Place
    from tf_cluster.cluster.connection import Connection
    from tf_cluster.cluster.serving.asking import Namespace
    from tf_cluster.cluster.serving.exports import Export
    from tf_cluster.cluster.serving.servers import Model, Server
    from tf_cluster.cluster.serving.values import Source

LOCK_SECONDS = 120


class ServiceType(str, Enum):
    """What `--type` takes."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


@dataclass(frozen=True)
class _Asked:
    """What is to be served, by which release, and the version that was checked."""

    model: str
    release: str
    source: "Source"
    export: "Export"
    values: dict[str, Any]


@ends_with("""\
Examples:
  tf-cluster serve digits
  tf-cluster serve digits -o digits-serving.values.yaml
  tf-cluster serve digits --best --install
  tf-cluster serve digits --claim models/digits --install --replicas 2

A Job on the claim looks at the export first. What is served is the newest version, also one that \
comes later; with --version or --claim it is one version, labelled stable, which promote moves. \
--install runs helm upgrade --install (helm on PATH, 3.18 or later, and the chart that this tool \
brings), waits until the server has answered the recorded request, and prints how to call it. A \
release that is there gets one more model.

Exit codes: 0 written, or served; 2 there is no good export, helm failed, the server does not \
answer as recorded, or the cluster does not answer.
""")
def serve(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The training; with --claim the model's name.")
    ],
    context: Context = None,
    namespace: NamespaceName = None,
    run: Run = None,
    best: Best = False,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="This version alone, not the newest.")
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(metavar="CLAIM/PATH", help="Versions there: where publish puts them."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Its name in the server, not NAME.")
    ] = None,
    release: Annotated[
        str | None, typer.Option(metavar="NAME", help="The server's release, not MODEL-serving.")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Pods of the server, not one.")
    ] = None,
    service_type: Annotated[
        ServiceType | None,
        typer.Option(
            "--type", metavar="TYPE", help="Of its Service: ClusterIP, NodePort, LoadBalancer."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the values there, else stdout."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite FILE, whoever wrote it (else it is kept).")
    ] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Install or upgrade the release, and wait.")
    ] = False,
    values: Annotated[
        list[str] | None,
        typer.Option("--values", "-f", metavar="FILE", help="With --install: more values."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=X", help="With --install: as helm's --set."),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --install: wait so long for it, not 10m."),
    ] = None,
    tolerance: Tolerance = None,
    chart: Chart = None,
    image: Image = None,
) -> None:
    """Make a server of a training's model, or its values."""
    from tf_cluster.cluster.connection import connect
    from tf_cluster.cluster.serving.asking import seen
    from tf_cluster.cluster.serving.releasing import CHART
    from tf_cluster.cluster.serving.values import memory_words

    if not install and (values or settings or wait or chart or tolerance is not None):
        raise RefusedError("--values, --set, --wait, --tolerance and --chart are for --install")
    if force and output in (None, "-"):
        raise RefusedError("--force is for a file: name it with -o FILE")
    if claim and (run or best):
        raise RefusedError("--run and --best are of a training, and --claim names none")
    leave_when_ended()
    until = time.monotonic() + seconds_of("--wait", wait or "10m")
    connection = connect(context, namespace)
    there = seen(connection)
    given = {
        **({"replicas": replicas} if replicas is not None else {}),
        **({"service": {"type": service_type.value}} if service_type else {}),
    }
    source, place = _source(connection, there, name, claim, run, best=best, image=image)
    model = (model or name).partition("/")[0]
    release = release or f"{model}-serving"
    if storage := _storage(connection, there, source, release):
        given["storage"] = storage
    asked = _asked(
        connection,
        place,
        source,
        version,
        model,
        release,
        given,
        until,
        is_fixed=bool(claim),
    )
    chart = chart or str(CHART)
    _refuse_unfit(chart, asked, asked.values, values or [], settings or [])
    tell_line(f"{source.words}: {export_words(asked.export)}: checked")
    if best and version is not None:
        which = f"--best{f' --run {run}' if run else ''} --version {version}"
        kept = f"tf-cluster publish {name} {which} --to CLAIM/PATH keeps it"
        tell_line(f"an evaluator removes versions that it has better ones for; {kept}")
    if asked.export.note:
        tell_line(f"{source.words}: {asked.export.note}")
    tell_line(memory_words(asked.export.size))
    if output is not None or not install:
        _write(asked, output or "-", force=force, is_next=not install)
    if install:
        _install(connection, asked, place, chart, values or [], settings or [], until, tolerance)


def _source(
    connection: "Connection",
    there: "Namespace",
    name: str,
    claim: str | None,
    run: str | None,
    *,
    best: bool,
    image: str | None,
) -> "tuple[Source, Place]":
    """Where the versions are, and where a Job looks at them. Raises RefusedError."""
    from tf_cluster.cluster.serving.asking import job_place
    from tf_cluster.cluster.serving.values import of_claim

    if claim:
        source = of_claim(claim, "--claim")
    else:
        source = source_of_training(training_place(connection, there, name), run, best=best)
    return source, job_place(there, source.claim, image)


def _storage(
    connection: "Connection", there: "Namespace", source: "Source", release: str
) -> dict[str, Any]:
    """What the values say of the claim. Raises ClusterError, also where there is none."""
    from tf_cluster.cluster.reading import claim_named
    from tf_cluster.cluster.serving.sharing import storage_values

    claim = claim_named(connection, there.name, source.claim)
    training = (source.values.get("run") or {}).get("release", "")
    return storage_values(claim.name, claim.modes, there.found, (release, training))


def _asked(
    connection: "Connection",
    place: "Place",
    source: "Source",
    version: int | None,
    model: str,
    release: str,
    given: dict[str, Any],
    until: float,
    *,
    is_fixed: bool,
) -> _Asked:
    """Look at the export, and make values of it. Raises RefusedError."""
    from tf_cluster.cluster.serving.asking import exports
    from tf_cluster.cluster.serving.exports import to_serve
    from tf_cluster.cluster.serving.values import refuse_no_model, server_values, wanted_at_first

    refuse_no_model(model)
    found = exports(connection, place, source.path, check_seconds(until), tell_line, version)
    export = to_serve(found, version, source.words, "--version")
    wanted = wanted_at_first(export, is_fixed=is_fixed or version is not None)
    values = server_values(model, source, wanted, export.size, **given)
    return _Asked(model, release, source, export, values)


def _refuse_unfit(
    chart: str,
    asked: _Asked,
    values: Mapping[str, Any],
    files: Sequence[str],
    settings: Sequence[str],
) -> None:
    """Refuse a server that would not load the export. Raises RefusedError."""
    from tf_cluster.cluster.serving.exports import refuse_older_server, refuse_small_batches
    from tf_cluster.cluster.serving.releasing import app_version
    from tf_cluster.cluster.serving.values import chosen_image, chosen_part, layers

    all_values = layers(values, files)
    refuse_older_server(chosen_image(all_values, settings, app_version(chart)), asked.export)
    refuse_small_batches(chosen_part("batching", all_values, settings), asked.export)


def _write(asked: _Asked, output: str, *, force: bool, is_next: bool) -> None:
    from tf_cluster.cli.common import next_step
    from tf_cluster.cluster.serving.values import values_text
    from tf_cluster.many.values_files import write_values

    words = [f"{asked.model}: {asked.source.words}. Checked: {export_words(asked.export)}."]
    text = values_text(asked.values, words, asked.release)
    if output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    command = ("helm", "upgrade", "--install", asked.release, "charts/tf-serving", "-f", output)
    then = next_step(command) if is_next else ""
    for line in write_values(output, text, force=force, then=then):
        tell_line(line)


def _install(
    connection: "Connection",
    asked: _Asked,
    place: "Place",
    chart: str,
    files: Sequence[str],
    settings: Sequence[str],
    until: float,
    tolerance: float | None,
) -> None:
    """Install or upgrade the release, wait until it answers, and print how to call it."""
    from tf_cluster.cluster.ending import refuse_argo_cd
    from tf_cluster.cluster.helm import find_helm
    from tf_cluster.cluster.mutex import held
    from tf_cluster.cluster.serving.asking import hasten, restart, seen
    from tf_cluster.cluster.serving.releasing import LEASE, refuse_stuck, values_there
    from tf_cluster.cluster.serving.releasing import install as install_release
    from tf_cluster.cluster.serving.rollout import await_ready
    from tf_cluster.cluster.serving.values import is_elsewhere

    helm = find_helm(connection.context, connection.namespace)
    lock_until = time.monotonic() + LOCK_SECONDS
    with held(connection, connection.namespace, lock_until, tell_holder, LEASE) as mutex:
        for one in seen(connection).servers:
            if one.release == asked.release:
                refuse_argo_cd(asked.release, one.managed_by, "change")
        refuse_stuck(connection, asked.release)
        there = values_there(helm, asked.release)
        whole = _merged(there, asked)
        _refuse_unfit(chart, asked, whole, files, settings)
        mutex.hold()
        why = f"serve {asked.model} {asked.export.number}"
        install_release(helm, asked.release, chart, whole, why, files, settings)
        mutex.hold()
    tell_line(f"release {asked.release} is installed; waiting until it answers")
    server, model = _made(connection, asked)
    if is_elsewhere(there, whole, asked.model):
        # The server compares the numbers of versions alone: it would keep the other run's.
        tell_line(f"{asked.model} comes from another directory: the pods begin anew")
        restart(connection, server)
    hasten(connection, server)
    await_ready(connection, server, until, tell_line)
    _ask(connection, asked, server, model, place, until, tolerance)


def _merged(there: dict[str, Any] | None, asked: _Asked) -> dict[str, Any]:
    from tf_cluster.cluster.serving.values import with_model

    if there is None:
        return asked.values
    return with_model(there, asked.model, asked.values, asked.release)


def _made(connection: "Connection", asked: _Asked) -> "tuple[Server, Model]":
    """The server that was installed. Raises RefusedError where it does not have the model."""
    from tf_cluster.cluster.serving.asking import seen
    from tf_cluster.cluster.serving.servers import meant

    return meant(seen(connection).servers, asked.model, asked.release)


def _ask(
    connection: "Connection",
    asked: _Asked,
    server: "Server",
    model: "Model",
    place: "Place",
    until: float,
    tolerance: float | None,
) -> None:
    """Ask the Service once, as clients do, and print how. Raises RefusedError."""
    from tf_cluster.cluster.serving.asking import asked as ask
    from tf_cluster.cluster.serving.asking import question_of
    from tf_cluster.cluster.serving.calls import called, calls_text
    from tf_cluster.cluster.serving.promoting import answer_words
    from tf_cluster.cluster.serving.service import host_of, outside, service_of

    service = service_of(connection, server)
    question = question_of(model, asked.export.number, tolerance)
    seconds = max(int(until - time.monotonic()), 1)
    hosts = [host_of(server, service)]
    answer = ask(connection, place, server, question, hosts, seconds, tell_line)[-1]
    if not answer.ok:
        raise RefusedError(
            f"release {asked.release} is installed, but {asked.model} {asked.export.number} does "
            f"not serve: {answer_words(answer)}"
        )
    told = "answers" if answer.is_one else "is served, and was not asked: no request is recorded"
    if answer.difference is not None:
        told += f", as recorded (difference {answer.difference:g})"
    tell_line(f"{asked.model} {asked.export.number} {told}")
    one = called(server, asked.model, asked.export, model.labels, hosts[0])
    sys.stdout.write(printable_lines(calls_text(one, outside(server, service))))
