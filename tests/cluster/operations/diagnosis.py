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
from tf_cluster.cluster.snapshot import Snapshot

from tests.cluster.kubernetes import Release

RECORDINGS = Path(__file__).resolve().parents[2] / "generator" / "cluster" / "recordings"
RECORD = "TF_CLUSTER_RECORD"
"""Set: what the doctor sees is written to RECORDINGS, where the generator's suite reads it."""


def seen(release: Release) -> Snapshot:
    """One snapshot of one release, with its logs and no other's events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", release.namespace.kubeconfig)
        connection = connect(None, release.namespace.name)
    snapshot = whole(connection, release.namespace.name, release.name)
    (training,) = snapshot.trainings
    mine = tuple(events_of(training, snapshot.events))
    releases = tuple(one for one in snapshot.releases if one.name == release.name)
    return with_logs(connection, replace(snapshot, events=mine, releases=releases), LOG_LINES)


def diagnosed(release: Release, code: str, later: float = 0.0, words: str = "") -> Finding:
    """The first finding of a code, with these words, and a recording of it.

    `later` seconds pass in the snapshot alone. Raises AssertionError with all that was found.
    """
    snapshot = seen(release)
    snapshot = replace(snapshot, at=snapshot.at + timedelta(seconds=later))
    found = findings(snapshot)
    for one in found:
        if one.code == code and words in one.words:
            record(f"{code}-{release.name}", snapshot)
            return one
    said = [(one.code, one.about, one.words) for one in found]
    raise AssertionError(f"{said}\n{snapshot.trainings}\n{snapshot.events}")


def findings(snapshot: Snapshot) -> list[Finding]:
    """What the doctor says of the one training of a snapshot."""
    (training,) = snapshot.trainings
    return examined(snapshot, training)


def record(name: str, snapshot: Snapshot) -> None:
    """Keep a snapshot for the generator's suite, when asked to."""
    if os.environ.get(RECORD):
        RECORDINGS.mkdir(exist_ok=True)
        (RECORDINGS / f"{name}.json").write_text(bundle(snapshot))
