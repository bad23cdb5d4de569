"""Who has asked the chief for its status: which Jobs are its attempt's, and who knows the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tf_cluster_trainer.supervisor.status.document import STARTING, WAITING, Document


@dataclass(frozen=True)
class Visits:
    """When each task asked last (monotonic seconds), and who has seen a final state."""

    last: Mapping[str, float] = field(default_factory=dict)
    saw_the_end: frozenset[str] = frozenset()

    def asked(self, task: str, now: float) -> Visits:
        """This task asks now."""
        return replace(self, last={**self.last, task: now})

    def left(self, task: str, document: Document) -> Visits:
        """This task has got this document."""
        return self.knows_the_end(task) if document.final else self

    def knows_the_end(self, task: str) -> Visits:
        """This task needs no final state any more."""
        return replace(self, saw_the_end=self.saw_the_end | {task})

    def forgotten(self) -> Visits:
        """Who asks from now on is there now."""
        return replace(self, last={})

    def has_asked(self, task: str, now: float, *, lately: float = math.inf) -> bool:
        """Whether this task has asked since visits were last forgotten, `lately` seconds ago."""
        return task in self.last and now - self.last[task] <= lately


def with_job(document: Document, own_task: str, visitor: str, job_uid: str) -> Document:
    """The document of `own_task`, which names the visitor's Job as the attempt's where it may.

    Before training begins the latest worker's UID wins: pods of an uninstalled release with the
    same hash may still be ending, and ask first. Worker 0 as the chief knows the Job itself. Of
    evaluators the latest wins until the end: their Job may be replaced while training goes on. One
    that comes to a final state may be that of the next attempt with the same hash.
    """
    known = document.worker_uid and document.status not in (STARTING, WAITING)
    learns = not own_task.startswith("worker-") and not known
    if visitor.startswith("worker-") and job_uid and learns:
        return replace(document, worker_uid=job_uid)
    over = document.final and document.evaluator_uid
    if visitor.startswith("evaluator-") and job_uid and not over:
        return replace(document, evaluator_uid=job_uid)
    return document
