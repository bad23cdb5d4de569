"""Where a Job stands, read from its status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from lightkube.models.batch_v1 import JobCondition, JobStatus


class Phase(Enum):
    """`ABSENT` is a Job that the API server does not have (yet, or any more)."""

    ABSENT = "absent"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True)
class JobState:
    """A phase and, for a failed Job, the controller's reason.

    Of a Job that runs: `first_done`, whether the pod of index 0 of an Indexed Job has succeeded;
    `ready`, whether a pod of it is ready.
    """

    phase: Phase
    detail: str = ""
    first_done: bool = False
    ready: bool = False

    @property
    def ended(self) -> bool:
        """True when no pod of this Job will run again."""
        return self.phase is not Phase.RUNNING


def from_status(status: JobStatus | None) -> JobState:
    """The state of a Job that the API server has."""
    if status is None:
        return JobState(Phase.RUNNING)
    state = from_conditions(status.conditions or ())
    if state.ended:
        return state
    # Intervals in their order: "0-2,5".
    first = (status.completedIndexes or "").partition(",")[0].partition("-")[0]
    return replace(state, first_done=first == "0", ready=bool(status.ready))


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
