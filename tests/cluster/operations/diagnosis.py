"""What the doctor's own code sees of a release, and recordings of it."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.doctor.bundle import bundle
from tf_cluster.cluster.doctor.examine import LOG_LINES, examined
from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.events import events_of
from tf_cluster.cluster.reading import whole, with_logs
from tf_cluster.cluster.snapshot import Snapshot, Training

from tests.cluster.kubernetes import Namespace, Release

RECORDINGS = Path(__file__).resolve().parents[2] / "generator" / "cluster" / "recordings"
RECORD = "TF_CLUSTER_RECORD"
"""Set: what the doctor sees is written to RECORDINGS, where the generator's suite reads it."""


def seen(release: Release) -> Snapshot:
    """One snapshot of one release, with its logs and no other's events."""
    return _seen(release.namespace, release.name)


def diagnosed(release: Release, code: str, later: float = 0.0, words: str = "") -> Finding:
    """The first finding of a code, with these words, and a recording of it.

    `later` seconds pass in the snapshot alone. Raises AssertionError with all that was found.
    """
    snapshot = seen(release)
    return _found(replace(snapshot, at=snapshot.at + timedelta(seconds=later)), code, words)


def diagnosed_server(namespace: Namespace, name: str, code: str) -> Finding:
    """The first finding of a code of a server of models, and a recording of it.

    Raises AssertionError with all that was found.
    """
    return _found(_seen(namespace, name), code)


def findings(snapshot: Snapshot) -> list[Finding]:
    """What the doctor says of the one training or server of a snapshot."""
    return examined(snapshot, _only(snapshot))


def _seen(namespace: Namespace, name: str) -> Snapshot:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", namespace.kubeconfig)
        connection = connect(None, namespace.name)
    snapshot = whole(connection, namespace.name, name)
    mine = tuple(events_of(_only(snapshot), snapshot.events))
    releases = tuple(one for one in snapshot.releases if one.name == name)
    return with_logs(connection, replace(snapshot, events=mine, releases=releases), LOG_LINES)


def _only(snapshot: Snapshot) -> Training:
    (one,) = (*snapshot.trainings, *snapshot.servers)
    return one


def _found(snapshot: Snapshot, code: str, words: str = "") -> Finding:
    found = findings(snapshot)
    for one in found:
        if one.code == code and words in one.words:
            record(f"{code}-{_only(snapshot).name}", snapshot)
            return one
    said = [(one.code, one.about, one.words) for one in found]
    raise AssertionError(f"{said}\n{_only(snapshot)}\n{snapshot.events}")


def record(name: str, snapshot: Snapshot) -> None:
    """Keep a snapshot for the generator's suite, when asked to."""
    if os.environ.get(RECORD):
        RECORDINGS.mkdir(exist_ok=True)
        (RECORDINGS / f"{name}.json").write_text(bundle(snapshot))
