"""The start-up gate: who the chief waits for, who is missing, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster_trainer.config import Config, TaskType

NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Peer:
    """A task that the chief waits for, and the address of its status port."""

    task: str
    address: str

    @property
    def host(self) -> str:
        """Its host's name."""
        return self.address.rsplit(":", 1)[0]

    @property
    def type(self) -> str:
        """Its task type: `worker` of `worker-0`."""
        return self.task.partition("-")[0]


@dataclass(frozen=True)
class Health:
    """What /healthz of a peer said last, or why it said nothing."""

    serving: bool
    epoch: str | None
    attempt: str
    task: str
    server: str = ""  # another one after each start of the task or of its child
    reason: str | None = None


NOT_ASKED = Health(False, None, "", "", reason="not heard of yet")


@dataclass(frozen=True)
class Missing:
    """A task that keeps the gate shut, and why."""

    peer: Peer
    reason: str


def health_of(document: Mapping[str, Any]) -> Health:
    """/healthz as data."""
    return Health(
        serving=bool(document.get("serving")),
        epoch=document.get("epoch"),
        attempt=str(document.get("attempt", "")),
        task=str(document.get("task", "")),
        server=f"{document.get('pod', '')}/{document.get('restarts', 0)}",
    )


def peers_of(config: Config) -> tuple[Peer, ...]:
    """Everyone the chief waits for: every ps and every worker that is not the chief itself."""
    everyone = (
        Peer(f"{kind}-{index}", address)
        for kind in ("ps", "worker")
        for index, address in enumerate(config.cluster.status.get(kind, ()))
    )
    return tuple(peer for peer in everyone if peer.task != config.task.name)


def missing(
    peers: Iterable[Peer],
    seen: Mapping[str, Health],
    attempt: str,
    epoch: str,
    bound: TaskType | None,
) -> tuple[Missing, ...]:
    """The tasks to wait for; none when the gate is open.

    Every task has to serve, and a task of the type `bound` (Settings.epoch_bound) this epoch: a ps
    that still holds the variables of a chief that is gone would keep them for good.
    """
    return tuple(
        Missing(peer, reason)
        for peer in peers
        if (reason := _reason(peer, seen[peer.task], attempt, epoch, bound)) is not None
    )


def _reason(
    peer: Peer, health: Health, attempt: str, epoch: str, bound: TaskType | None
) -> str | None:
    if health.reason is not None:
        return health.reason
    if health.attempt != attempt:
        return f"serves another attempt ({health.attempt or 'unnamed'})"
    if health.task != peer.task:
        return f"{health.task or 'another program'} answers in its place"
    if not health.serving:
        return "not serving yet (TensorFlow is starting)"
    if peer.type == bound and health.epoch != epoch:
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
