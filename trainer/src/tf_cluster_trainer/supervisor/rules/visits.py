"""Who has asked the chief for its status: which Jobs are its attempt's, and who knows the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tf_cluster_trainer.supervisor.status.document import STARTING, WAITING, Document

# For so long another Job's evaluator asks, and no other, before it is the attempt's. The pods of an
# uninstalled release, with its chief, are asked to end sooner.
NEWCOMER_SECONDS = 10.0


@dataclass(frozen=True)
class Visits:
    """When each task asked last (monotonic seconds), and who has seen a final state.

    `jobs` has the Job that each task asked from last, and since when it is no other. `ending`: this
    attempt ends, and whoever comes from another Job may be of the next one with the same name.
    """

    last: Mapping[str, float] = field(default_factory=dict)
    saw_the_end: frozenset[str] = frozenset()
    jobs: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    ending: bool = False

    def asked(self, task: str, job_uid: str, now: float) -> Visits:
        """This task asks now, from this Job."""
        same = task in self.jobs and self.jobs[task][0] == job_uid
        jobs = self.jobs if same else {**self.jobs, task: (job_uid, now)}
        return replace(self, last={**self.last, task: now}, jobs=jobs)

    def left(self, task: str, document: Document) -> Visits:
        """This task has got this document."""
        return self.knows_the_end(task) if document.final else self

    def knows_the_end(self, task: str) -> Visits:
        """This task needs no final state any more."""
        return replace(self, saw_the_end=self.saw_the_end | {task})

    def before_the_end(self) -> Visits:
        """Whoever has asked so far is ours, and nobody else."""
        return replace(self, ending=True)

    def forgotten(self) -> Visits:
        """Who asks from now on is there now."""
        return replace(self, last={})

    def has_asked(self, task: str, now: float, *, lately: float = math.inf) -> bool:
        """Whether this task has asked since visits were last forgotten, `lately` seconds ago."""
        return task in self.last and now - self.last[task] <= lately


def with_job(document: Document, visits: Visits, own_task: str, visitor: str) -> Document:
    """The document of `own_task`, which names the visitor's Job as the attempt's where it may.

    Pods of an uninstalled release with the same name may still be ending, and ask first; and the
    chief of one may be asked by the next one's. So before training begins the latest Job wins, and
    later the first one stays; an evaluator's may be replaced while training goes on, by one that
    alone asks for NEWCOMER_SECONDS. An attempt that ends takes no other Job for its own. Worker 0
    as the chief knows the workers' Job itself.
    """
    kind = visitor.partition("-")[0]
    if kind not in ("worker", "evaluator") or own_task.startswith(f"{kind}-"):
        return document
    job_uid, since = visits.jobs[visitor]
    known = document.worker_uid if kind == "worker" else document.evaluator_uid
    stays = document.final or visits.ending
    if document.status not in (STARTING, WAITING):
        alone = visits.last[visitor] - since
        stays = stays or kind == "worker" or alone < NEWCOMER_SECONDS
    if not job_uid or (known and stays):
        return document
    if kind == "worker":
        return replace(document, worker_uid=job_uid)
    return replace(document, evaluator_uid=job_uid)
