"""Where a Job stands, read from its status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from lightkube.models.batch_v1 import JobCondition, JobSpec, JobStatus


class Phase(Enum):
    """`ABSENT` is a Job that the API server does not have (yet, or any more)."""

    ABSENT = "absent"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True)
class JobState:
    """A phase and, for a failed Job, the controller's reason.

    `completions` is how many indexes an Indexed Job has now. Of a Job that runs: `done`, how many
    of its first indexes have succeeded without a gap; `ready`, whether a pod of it is ready.
    """

    phase: Phase
    detail: str = ""
    completions: int | None = None
    done: int = 0
    ready: bool = False

    @property
    def ended(self) -> bool:
        """True when no pod of this Job will run again."""
        return self.phase is not Phase.RUNNING

    @property
    def first_done(self) -> bool:
        """Whether it runs and index 0 has succeeded."""
        return self.done > 0


def from_job(spec: JobSpec | None, status: JobStatus | None) -> JobState:
    """The state of a Job that the API server has."""
    status = status or JobStatus()
    state = from_conditions(status.conditions or ())
    state = replace(state, completions=spec.completions if spec else None)
    if state.ended:
        return state
    return replace(state, done=_without_a_gap(status.completedIndexes), ready=bool(status.ready))


def _without_a_gap(indexes: str | None) -> int:
    """How many indexes from 0 on are in the sorted intervals, such as "0-2,5"."""
    first, _, last = (indexes or "").partition(",")[0].partition("-")
    return int(last or first) + 1 if first == "0" else 0


def from_conditions(conditions: Iterable[JobCondition]) -> JobState:
    """The state by all conditions: Complete and Failed may stand behind others.

    The Job controller writes SuccessCriteriaMet or FailureTarget first, while pods still end.
    """
    for condition in conditions:
        if condition.status != "True":
            continue
        if condition.type == "Complete":
            return JobState(Phase.COMPLETE)
        if condition.type == "Failed":
            words = (condition.reason or "", condition.message or "")
            return JobState(Phase.FAILED, ": ".join(word for word in words if word))
    return JobState(Phase.RUNNING)
