"""What is fixed for a task that is not the chief, what changes, and one decision under way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    End,
    ShowTask,
)
from tf_cluster_trainer.supervisor.rules.restart import Budget
from tf_cluster_trainer.supervisor.rules.silence import Silence
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    Outcome,
)
from tf_cluster_trainer.supervisor.timing import Timing

# A worker's turn to give up is its place among the workers that wait, but no later than this.
LAST_TURN = 8


class Part(Enum):
    """What a task has to do in the training."""

    SERVE = auto()  # its child is a TensorFlow server
    TRAIN = auto()  # its child makes steps, beside worker 0's
    SCRIPT = auto()  # its child is the user's script, beside the chief's
    EVALUATE = auto()  # its child measures checkpoints


@dataclass(frozen=True)
class Words:
    """What a child is called, what is shown while one starts, what is in vain without a chief."""

    process: str
    starting: str
    in_vain: str = "nothing can be trained"


_WORDS = {
    Part.SERVE: Words("the server process", "starting the TensorFlow server"),
    Part.TRAIN: Words("the training process", "starting the training process"),
    Part.SCRIPT: Words("the script", "starting"),
    Part.EVALUATE: Words(
        "the evaluating process", "loading the program", "no checkpoint can be expected"
    ),
}


EVALUATED = Outcome(exit_codes.DONE, DONE, "training is done, and all is evaluated")


@dataclass(frozen=True)
class Follower:
    """What is fixed for one task."""

    config: Config
    timing: Timing

    @cached_property
    def part(self) -> Part:
        """What it has to do."""
        if self.config.runs_script:
            return Part.SCRIPT
        if self.config.evaluates:
            return Part.EVALUATE
        return Part.TRAIN if self.config.trains else Part.SERVE

    @property
    def words(self) -> Words:
        """How it speaks of its child."""
        return _WORDS[self.part]

    @property
    def bound(self) -> bool:
        """Whether its child serves one epoch of the chief, and starts again for the next."""
        return self.config.settings.epoch_bound == self.config.task.type

    @property
    def never_ends_by_itself(self) -> bool:
        """A ps serves whoever comes: cleanup ends it."""
        return self.config.task.type == "ps"

    @property
    def turn(self) -> int:
        """How many deadlines without a word of the chief this task waits: not all end at once.

        Each that does is a failure of their Job, which has a few, and may leave its node to the
        task that all wait for.
        """
        if self.part is Part.EVALUATE:
            return 1
        before = 1 if self.config.settings.combination.has_chief else 0
        return min(self.config.task.index + before, LAST_TURN)

    @property
    def deadline(self) -> float:
        """Seconds without a word from the chief after which this task ends."""
        idle = self.config.settings.idle_seconds
        if idle is not None:
            return idle
        return self.turn * self.config.settings.peer_deadline_seconds

    @property
    def stop_grace(self) -> float:
        """Seconds that the child has to end in when this task was asked to stop.

        Workers in lockstep agree on the step to end at, and the chief saves it. What a script saves
        is its own affair; a ps, or a worker that is driven, has nothing to save.
        """
        return self.timing.save if self.config.trains else self.timing.grace


@dataclass(frozen=True)
class ChildRun:
    """The present child, and what is known of it. Times are monotonic seconds."""

    number: int
    alive: bool
    epoch: str | None = None  # the chief's, once adopted
    serving_since: float | None = None
    let_go_in: str | None = None  # the chief's epoch when it was let go
    through_with: str | None = None  # the epoch that it was through with
    replacing: bool = False  # it is killed for the chief's next epoch
    failure: str | None = None


@dataclass(frozen=True)
class State:
    """All that changes."""

    budget: Budget
    silence: Silence
    child: ChildRun | None = None
    ending: Outcome | None = None
    kill_at: float | None = None
    start_at: float | None = None
    checkpoint_step: int | None = None
    last_step: tuple[int | None] | None = None  # an evaluator's: training is done


def first_state(follower: Follower) -> State:
    """Before anything has happened."""
    config = follower.config
    return State(Budget(config.settings.restarts), Silence(config.cluster.attempt))


@dataclass
class Turn:
    """One decision under way: the state as it becomes, and what is to be done."""

    follower: Follower
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
        self.set(child=replace(self.child, **changes))

    def show(self, **changes: Any) -> None:
        """Show these fields in the task's status, and what it says of its health."""
        child = self.child
        serving = child.serving_since is not None
        self.do(ShowTask(serving, child.epoch, child.number - 1, changes))

    def is_over(self) -> bool:
        """Whether the supervisor ends."""
        return any(isinstance(action, End) for action in self.actions)

    @property
    def child(self) -> ChildRun:
        """The present child; there is one."""
        assert self.state.child is not None
        return self.state.child

    @property
    def chief_name(self) -> str:
        """The task that drives the run: `chief-0`."""
        if self.follower.config.settings.interactive:
            return "the client"
        return f"{self.follower.config.chief_type}-0"

    @property
    def type(self) -> str:
        """This task's type."""
        return self.follower.config.task.type
