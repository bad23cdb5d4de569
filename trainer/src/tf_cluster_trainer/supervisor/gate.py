"""The start-up gate: who is missing, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .peers import Health, Peer

NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Missing:
    """A task that keeps the gate shut, and why."""

    peer: Peer
    reason: str


def missing(
    peers: Iterable[Peer], seen: Mapping[str, Health], attempt: str, epoch: str, bound: str
) -> tuple[Missing, ...]:
    """The tasks to wait for; none when the gate is open.

    Every task has to serve, and a task of the type `bound` (epochs.py) this epoch: a ps that still
    holds the variables of a chief that is gone would keep them for good.
    """
    return tuple(
        Missing(peer, reason)
        for peer in peers
        if (reason := _reason(peer, seen[peer.task], attempt, epoch, bound)) is not None
    )


def _reason(peer: Peer, health: Health, attempt: str, epoch: str, bound: str) -> str | None:
    if health.reason is not None:
        return health.reason
    if health.attempt != attempt:
        return f"serves another attempt ({health.attempt or 'unnamed'})"
    if health.task != peer.task:
        return f"{health.task or 'another program'} answers in its place"
    if not health.serving:
        return "not serving yet (TensorFlow is starting)"
    if peer.task.startswith(f"{bound}-") and health.epoch != epoch:
        return "about to start afresh for this chief"
    return None


def waiting_for(
    absent: Iterable[Missing], of: int, waited: float, deadline: float, hint: str
) -> str:
    """One line for people: who is missing, where, why, for how long, and where to look."""
    absent = tuple(absent)
    reasons: dict[str, list[str]] = {}
    for one in absent[:NAMED_AT_MOST]:
        reasons.setdefault(one.reason, []).append(f"{one.peer.task} ({one.peer.host})")
    named = "; ".join(f"{', '.join(tasks)}: {reason}" for reason, tasks in reasons.items())
    more = f"; and {len(absent) - NAMED_AT_MOST} more" if len(absent) > NAMED_AT_MOST else ""
    look = f". Look at: {hint}" if hint else ""
    return (
        f"waiting for {len(absent)} of {of} tasks, {waited:.0f} s of {deadline:.0f} s: "
        f"{named}{more}{look}"
    )
