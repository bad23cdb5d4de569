"""What can happen to a supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster_trainer import protocol
from tf_cluster_trainer.supervisor.rules.gate import Health
from tf_cluster_trainer.supervisor.rules.standing import Standing
from tf_cluster_trainer.supervisor.status.document import Outcome


@dataclass(frozen=True)
class Tick:
    """Time has passed, whatever else happened."""


@dataclass(frozen=True)
class StopAsked:
    """SIGTERM or SIGINT came."""


@dataclass(frozen=True)
class ChildSaid:
    """A message of the child with this number."""

    child: int
    message: protocol.Message


@dataclass(frozen=True)
class ChildEnded:
    """The child with this number is gone: `returncode` as in subprocess (negative: a signal)."""

    child: int
    returncode: int


@dataclass(frozen=True)
class PeerSeen:
    """What this peer says of itself is not what it said before; asked for this child."""

    child: int
    task: str
    health: Health


@dataclass(frozen=True)
class PeerReplaced:
    """This ps or worker runs another server than the child with this number is connected to."""

    child: int
    task: str


@dataclass(frozen=True)
class PeerFailed:
    """This worker or ps ends in a way that no retry can help; the message says why."""

    task: str
    message: str


@dataclass(frozen=True)
class StandingChanged:
    """Where this chief stands in the election of the run's writer."""

    standing: Standing


@dataclass(frozen=True)
class StandingLooked:
    """The answer to LookAtStanding; None: this chief did not stand yet."""

    standing: Standing | None


@dataclass(frozen=True)
class RunSeen:
    """The answer to LookAtRun, and what a chief begins with.

    `step`: the newest checkpoint's. `told`: progress.json, empty where there is none.
    `taken_by`: the attempt that has the run and names our Job superseded. `unusable`: the run's
    directory can't be used, and how the supervisor ends by that.
    """

    step: int | None = None
    told: Mapping[str, Any] | None = None
    taken_by: str | None = None
    unusable: Outcome | None = None


@dataclass(frozen=True)
class ChiefSeen:
    """The chief's status document, from its port or from progress.json; None: neither.

    Of a document from the file: `at_total`, the run is done by any attempt; `superseded`, a later
    attempt took the run from this very Job. To an evaluator `evaluated` is the last step that was.
    """

    document: Mapping[str, Any] | None
    from_file: bool = False
    at_total: bool = False
    superseded: bool = False
    evaluated: int | None = None


Event = (
    Tick
    | StopAsked
    | ChildSaid
    | ChildEnded
    | PeerSeen
    | PeerReplaced
    | PeerFailed
    | StandingChanged
    | StandingLooked
    | RunSeen
    | ChiefSeen
)
