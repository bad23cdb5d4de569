"""Whether a peer still runs the server that the chief's child is connected to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tf_cluster_trainer.supervisor.rules.events import Event, PeerReplaced, PeerSeen
from tf_cluster_trainer.supervisor.rules.gate import Health

LOOKS = 2


@dataclass(frozen=True)
class Guarded:
    """One peer, as it is seen while training runs. `known` is the server that it is to run."""

    task: str
    attempt: str
    known: str
    # What was seen last before may be a question that failed while training began.
    silent: bool | None = None
    strange: int = 0


def look(guarded: Guarded, health: Health, child: int) -> tuple[Guarded, list[Event]]:
    """What follows from an answer, or from none, for the chief's child of this number.

    Silence proves nothing by itself; whether a peer answers is an event at first, and when it
    changes. Two answers in a row of another server are one, once for each server.
    """
    silent = health.reason is not None
    events: list[Event] = []
    if silent != guarded.silent:
        events.append(PeerSeen(child, guarded.task, health))
    guarded = replace(guarded, silent=silent)
    ours = (health.task, health.attempt) == (guarded.task, guarded.attempt)
    if silent or not ours or not health.serving or health.server == guarded.known:
        return replace(guarded, strange=0), events
    if guarded.strange + 1 < LOOKS:
        return replace(guarded, strange=guarded.strange + 1), events
    events.append(PeerReplaced(child, guarded.task))
    return replace(guarded, known=health.server, strange=0), events
