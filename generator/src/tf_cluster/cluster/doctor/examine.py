"""Looks at a training with every rule."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.doctor.rules import RULES
from tf_cluster.cluster.doctor.view import View
from tf_cluster.cluster.snapshot import Snapshot, Training

LOG_LINES = 100
"""Of each log that is read for it."""


def examined(snapshot: Snapshot, training: Training) -> list[Finding]:
    """What is wrong with a training, by code and object, each said once."""
    view = View(training, snapshot)
    found = (finding for rule in RULES for finding in rule.look(view))
    return sorted(set(found), key=lambda one: (one.code, one.about, one.words))


def everything(snapshot: Snapshot) -> Iterator[tuple[Training, list[Finding]]]:
    """Each training and server of a snapshot, and what is wrong with it."""
    for training in (*snapshot.trainings, *snapshot.servers):
        yield training, examined(snapshot, training)
