"""A chief that has ended serves its final state until all have fetched it who have to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tf_cluster_trainer.supervisor.rules.chief_turn import Chief
from tf_cluster_trainer.supervisor.rules.visits import Visits

EVALUATOR = "evaluator-0"
FINAL_AGAIN = 1.0  # seconds until a final state that the disk refused is written again
EVALUATOR_ASKS = 10.0  # seconds; one that asked longer ago than that is not there any more


@dataclass(frozen=True)
class Farewell:
    """Whom this chief waits for, until when, and when it writes again. Monotonic seconds."""

    awaited: tuple[str, ...]
    until: float
    write_at: float


@dataclass(frozen=True)
class Stay:
    """Look again in a moment."""


@dataclass(frozen=True)
class WriteAgain:
    """Write the final state, which the disk has refused: who comes later finds it there alone."""


@dataclass(frozen=True)
class Leave:
    """Nobody needs this chief any longer, or it has waited long enough; `words` are for the log."""

    words: str | None = None


def begin(chief: Chief, visits: Visits, now: float) -> Farewell:
    """Who has to fetch the final state before the chief goes, if they come in time."""
    workers = tuple(peer.task for peer in chief.peers if peer.type == "worker")
    evaluator = visits.has_asked(EVALUATOR, now, lately=EVALUATOR_ASKS)
    awaited = (*workers, EVALUATOR) if evaluator else workers
    until = now + chief.config.settings.final_state_seconds
    return Farewell(awaited, until, now + FINAL_AGAIN)


def look(
    farewell: Farewell, visits: Visits, now: float, *, stood: bool, refused: bool
) -> tuple[Farewell, Stay | WriteAgain | Leave]:
    """What is to be done now.

    `stood`: this chief stood for election; one that never did has no run to write to. `refused`:
    the disk has not taken the final state.
    """
    owes_disk = stood and refused
    if not owes_disk and visits.saw_the_end.issuperset(farewell.awaited):
        return farewell, Leave()
    if now >= farewell.until:
        return farewell, Leave("not every task has fetched the final state; ending all the same")
    if owes_disk and now >= farewell.write_at:
        return replace(farewell, write_at=now + FINAL_AGAIN), WriteAgain()
    return farewell, Stay()
