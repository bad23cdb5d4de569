"""What the rules have a supervisor do. Each is done before the next event is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster_trainer import protocol
from tf_cluster_trainer.supervisor.status.document import Outcome


@dataclass(frozen=True)
class Say:
    """A line of the log. `warns`: it tells of trouble that the task goes on after."""

    text: str
    warns: bool = False


@dataclass(frozen=True)
class SayWaiting:
    """A line that tells what is waited for: at first, when `what` changes, and now and then."""

    what: object
    text: str


@dataclass(frozen=True)
class Show:
    """Change these fields of the status document and publish it."""

    changes: Mapping[str, Any]


@dataclass(frozen=True)
class ShowTask:
    """Of a task that is not the chief: change these fields of its status, and what it says of its
    health.
    """

    serving: bool
    epoch: str | None
    restarts: int
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Publish:
    """Publish the status document with the present time."""


@dataclass(frozen=True)
class KeepOnDisk:
    """From now on the status document is kept in progress.json: before, it is the last writer's."""


@dataclass(frozen=True)
class Hear:
    """Take over into the status document what the chief's child says."""

    message: protocol.Message


@dataclass(frozen=True)
class Recall:
    """The run is at its total, this step, already: show again what its last writer told."""

    step: int
    told: Mapping[str, Any]


@dataclass(frozen=True)
class ForgetPace:
    """Rates and estimates are a child's own: there is a new one."""


@dataclass(frozen=True)
class CountLosses:
    """These tasks were lost, each once more."""

    tasks: tuple[str, ...]


@dataclass(frozen=True)
class StartChild:
    """Start the process of the child with this number."""

    number: int
    epoch: str = ""


@dataclass(frozen=True)
class LetGo:
    """Have the waiting child with this number begin; a script is started now."""

    number: int


@dataclass(frozen=True)
class TellLastStep:
    """Tell an evaluator's child which checkpoint is the last; None: whichever is there."""

    step: int | None


@dataclass(frozen=True)
class Terminate:
    """Ask the child to save and end."""


@dataclass(frozen=True)
class Kill:
    """End the child now, and what it started."""


@dataclass(frozen=True)
class AskPeers:
    """Ask every peer again and again whether it serves, and tell it this epoch."""

    epoch: str


@dataclass(frozen=True)
class HurryPeers:
    """Our child is ready: in a while, ask those too that have not announced themselves."""


@dataclass(frozen=True)
class GuardPeers:
    """From now on ask these slowly whether they are still the same servers."""

    tasks: tuple[str, ...]


@dataclass(frozen=True)
class AskNobody:
    """Ask no peer any more."""


@dataclass(frozen=True)
class TellNews:
    """Have every peer that has asked us look at our status at once."""


@dataclass(frozen=True)
class KnowNoOtherJob:
    """We end: whoever asks from another Job may be of the next attempt with the same name."""


@dataclass(frozen=True)
class AskChief:
    """Look at the chief's status from now on."""


@dataclass(frozen=True)
class AskChiefNoMore:
    """Look at the chief no more."""


@dataclass(frozen=True)
class StandForElection:
    """Try to become the run's one writer, and stay it."""


@dataclass(frozen=True)
class LookAtStanding:
    """Where do we stand in the election? The answer is an event: StandingChanged, looked at."""


@dataclass(frozen=True)
class LookAtRun:
    """Is the run done already? The answer is an event: RunSeen."""


@dataclass(frozen=True)
class End:
    """The supervisor ends with this outcome; nothing more is asked of the rules."""

    outcome: Outcome


Action = (
    Say
    | SayWaiting
    | Show
    | ShowTask
    | Publish
    | KeepOnDisk
    | Hear
    | Recall
    | ForgetPace
    | CountLosses
    | StartChild
    | LetGo
    | TellLastStep
    | Terminate
    | Kill
    | AskPeers
    | HurryPeers
    | GuardPeers
    | AskNobody
    | TellNews
    | KnowNoOtherJob
    | AskChief
    | AskChiefNoMore
    | StandForElection
    | LookAtStanding
    | LookAtRun
    | End
)
