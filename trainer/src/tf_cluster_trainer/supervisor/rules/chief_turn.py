"""What is fixed for a chief, what changes, and one decision under way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import Any

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.rules import gate
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    End,
    Show,
)
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer
from tf_cluster_trainer.supervisor.rules.restart import Budget
from tf_cluster_trainer.supervisor.rules.silence import stopped_for
from tf_cluster_trainer.supervisor.rules.stall import Replaced
from tf_cluster_trainer.supervisor.rules.standing import (
    Standing,
)
from tf_cluster_trainer.supervisor.status.document import (
    STARTING,
    SUPERSEDED,
    Outcome,
)
from tf_cluster_trainer.supervisor.timing import Timing


@dataclass(frozen=True)
class Chief:
    """What is fixed for one chief."""

    config: Config
    timing: Timing

    @cached_property
    def peers(self) -> tuple[Peer, ...]:
        """Whom it waits for."""
        return gate.peers_of(self.config)

    @property
    def script(self) -> bool:
        """Whether the child is the user's script, which says nothing and can't wait."""
        return self.config.settings.script is not None

    @property
    def working(self) -> str:
        """What is shown while the child has work."""
        return "the script runs" if self.script else "training"

    @cached_property
    def guarded(self) -> tuple[str, ...]:
        """Those whose replacement the child may not notice, and does not survive by itself.

        Without a chief of its own type the child takes care of that, or has heartbeats; a script
        may wait for ever for a worker that is gone.
        """
        settings = self.config.settings
        if self.script:
            return tuple(peer.task for peer in self.peers if peer.type == settings.epoch_bound)
        return tuple(peer.task for peer in self.peers) if settings.combination.has_chief else ()

    @cached_property
    def guarded_workers(self) -> tuple[str, ...]:
        """The workers among `guarded`."""
        return tuple(task for task in self.guarded if task.startswith("worker-"))


class Phase(Enum):
    """How far the present child is."""

    LOADING = auto()  # it imports TensorFlow and tries the program
    READY = auto()  # it waits to be let go
    TRAINING = auto()
    FINISHING = auto()  # all steps are made; it saves, evaluates, exports alone


@dataclass(frozen=True)
class ChildRun:
    """The present child, and what is known of it. Times are monotonic seconds."""

    number: int
    started: float
    seen: dict[str, Health]
    alive: bool
    phase: Phase = Phase.LOADING
    absent_since: float | None = None  # somebody keeps the gate shut; as Turn.ran
    alone_since: float | None = None  # no worker answers; as Turn.ran
    first_report: int | None = None
    stepped: bool = False
    needs_workers: bool = True  # False when all steps are made
    result: protocol.Result | None = None
    failure: str | None = None

    @property
    def begun(self) -> bool:
        """Whether it was let go."""
        return self.phase in (Phase.TRAINING, Phase.FINISHING)


@dataclass(frozen=True)
class State:
    """All that changes. `epoch` and so on of the status document are what was shown last."""

    budget: Budget
    replaced: Replaced  # its times are as Turn.ran
    child: ChildRun | None = None
    stands: bool = False  # it entered the election
    standing: Standing | None = None
    saw_run: bool = False  # since it became the owner
    began_once: bool = False
    ending: Outcome | None = None
    kill_at: float | None = None
    shown: tuple[str, str] = (STARTING, "")  # status and message
    checkpoint_step: int | None = None
    looked: float = 0.0  # when something was decided last
    stopped: float = 0.0  # seconds in which this supervisor was stopped, all in all

    def looked_at(self, now: float) -> State:
        """To be called before each decision: what this chief was stopped in is nobody's absence."""
        stopped = self.stopped + stopped_for(self.looked, now)
        return replace(self, looked=now, stopped=stopped)

    def acted(self, now: float) -> State:
        """To be called when an action is done: what a slow disk took is time like any other."""
        return replace(self, looked=now)


def first_state(chief: Chief, now: float) -> State:
    """Before anything has happened."""
    budget = Budget(chief.config.settings.restarts)
    return State(budget, nobody_replaced(chief, now), looked=now)


def nobody_replaced(chief: Chief, ran: float) -> Replaced:
    """No worker was replaced so far; steps are heard of in reports, none comes sooner.

    `ran` is as of a turn.
    """
    patience = max(chief.timing.stall, 3 * chief.config.settings.report_seconds)
    return Replaced.nobody(patience, ran)


@dataclass
class Turn:
    """One decision under way: the state as it becomes, and what is to be done."""

    chief: Chief
    state: State
    now: float
    actions: list[Action] = field(default_factory=list)

    def do(self, action: Action) -> None:
        """Have this done."""
        self.actions.append(action)

    def set(self, **changes: Any) -> None:
        """Change the state."""
        self.state = replace(self.state, **changes)

    def change_child(self, **changes: Any) -> None:
        """Change what is known of the present child."""
        assert self.state.child is not None
        self.set(child=replace(self.state.child, **changes))

    def show(self, **changes: Any) -> None:
        """Show these fields in the status document."""
        status, message = self.state.shown
        shown = (changes.get("status", status), changes.get("message", message))
        self.set(shown=shown)
        self.do(Show(changes))

    def is_over(self) -> bool:
        """Whether the supervisor ends."""
        return any(isinstance(action, End) for action in self.actions)

    @property
    def child_is_alive(self) -> bool:
        """Whether there is a process."""
        return self.state.child is not None and self.state.child.alive

    @property
    def ran(self) -> float:
        """`now` by a clock that stands still while this supervisor is stopped.

        By it is counted how long others are absent: who is stopped can't hear that they are there.
        """
        return self.now - self.state.stopped

    @property
    def epoch(self) -> str:
        """The present child's epoch."""
        assert self.state.child is not None
        return f"{self.chief.config.task.pod_uid}/{self.state.child.number}"

    @property
    def timing(self) -> Timing:
        """How long things take."""
        return self.chief.timing

    @property
    def total(self) -> int:
        """The run's steps."""
        return self.chief.config.settings.steps


def superseded(by: str) -> Outcome:
    """The end of a chief whose run another attempt has."""
    return Outcome(exit_codes.DONE, SUPERSEDED, f"superseded, nothing is left to do here: {by}")
