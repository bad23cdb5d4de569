"""Where a Job stands, read from its conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from lightkube.models.batch_v1 import JobCondition


class Phase(Enum):
    """`ABSENT` is a Job that the API server does not have (yet, or any more)."""

    ABSENT = "absent"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True)
class JobState:
    """A phase and, for a failed Job, the controller's reason."""

    phase: Phase
    detail: str = ""

    @property
    def ended(self) -> bool:
        """True when no pod of this Job will run again."""
        return self.phase is not Phase.RUNNING


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
