"""Every task but the chief: keep a child while the attempt lasts, and end with it.

What the tasks have in common, and the few things in which they differ: a server, a worker that
trains beside worker 0, a script beside the chief's, an evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import Any

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.rules import epochs, restart
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    AskChief,
    AskChiefNoMore,
    End,
    Kill,
    LetGo,
    Say,
    SayWaiting,
    ShowTask,
    StartChild,
    TellLastStep,
    Terminate,
)
from tf_cluster_trainer.supervisor.rules.events import (
    ChiefSeen,
    ChildEnded,
    ChildSaid,
    Event,
    StopAsked,
)
from tf_cluster_trainer.supervisor.rules.final_state import ends
from tf_cluster_trainer.supervisor.rules.restart import Budget
from tf_cluster_trainer.supervisor.rules.silence import Silence
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    FAILED,
    RUNNING,
    STARTING,
    STOPPED,
    SUPERSEDED,
    WAITING,
    Outcome,
)
from tf_cluster_trainer.supervisor.timing import Timing

# Without a word from the chief for so long a task says so.
QUIET_SECONDS = 10.0
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


_EVALUATED = Outcome(exit_codes.DONE, DONE, "training is done, and all is evaluated")


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


def decide(
    follower: Follower, state: State, event: Event, now: float
) -> tuple[State, list[Action]]:
    """What follows from an event at `now`, monotonic seconds.

    The first event is a ChiefSeen of progress.json: an attempt that is over needs no child.
    """
    turn = _Turn(follower, state, now)
    turn.take(event)
    return turn.state, turn.actions


@dataclass
class _Turn:
    """One decision under way: the state as it becomes, and what is to be done."""

    follower: Follower
    state: State
    now: float
    actions: list[Action] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Handle the event, then whatever is due by now."""
        self._on(event)
        if self._is_over():
            return
        if self.state.child is None:
            self._start_child()
            return
        self._without_word()
        if self._is_over():
            return
        kill_at = self.state.kill_at
        if self._child.alive and kill_at is not None and self.now >= kill_at:
            self._set(kill_at=None)
            self._do(Kill())
        if self.state.start_at is not None and self.now >= self.state.start_at:
            self._start_child()

    def _on(self, event: Event) -> None:
        if isinstance(event, StopAsked):
            outcome = Outcome(exit_codes.STOPPED, STOPPED, "stopped by SIGTERM")
            self._end_child(outcome, self.follower.stop_grace)
        elif isinstance(event, ChiefSeen):
            if event.document is not None or event.from_file:
                chief = event.document or {}
                heard = self.state.silence.heard(chief, self.now, from_file=event.from_file)
                self._set(silence=heard)
                self._on_chief(chief, event)
        elif self.state.child is None or getattr(event, "child", None) != self._child.number:
            return  # of a child before
        elif isinstance(event, ChildSaid):
            if isinstance(event.message, protocol.Failure):
                self._run(failure=event.message.message)
            self._on_message(event.message)
        elif isinstance(event, ChildEnded):
            self._run(alive=False)
            self._on_end(event.returncode)

    # The child

    def _start_child(self) -> None:
        number = 1 if self.state.child is None else self._child.number + 1
        script = self.follower.part is Part.SCRIPT
        self._set(child=ChildRun(number, alive=not script), start_at=None)
        self._show(status=STARTING, message=self.follower.words.starting)
        if script:
            # It can start at any time; that is what `serving` means here.
            self._serve(WAITING, f"ready; waiting for {self._chief} to begin")
            return
        self._do(StartChild(number))
        if self.follower.part is Part.EVALUATE:
            # The chief's name is a Service's, there from the beginning.
            self._begin_to_ask()
            if self.state.last_step is not None:
                self._do(TellLastStep(self.state.last_step[0]))

    def _on_message(self, message: protocol.Message) -> None:
        part = self.follower.part
        if part is Part.SERVE and isinstance(message, protocol.Serving):
            self._serve(RUNNING, "serving")
        elif part is Part.TRAIN and isinstance(message, protocol.Ready):
            words = f"ready; waiting for {self._chief} to begin"
            self._do(Say(words))  # it may wait for long
            self._serve(WAITING, words)
        elif part is Part.EVALUATE:
            self._on_evaluator(message)

    def _on_evaluator(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Ready):
            self._serve(WAITING, "waiting for a checkpoint")
        elif isinstance(message, protocol.Phase) and message.status in (RUNNING, WAITING):
            self._show(status=message.status, message=message.message)
        elif isinstance(message, protocol.Evaluated):
            self._set(budget=self.state.budget.refilled())
            self._show(step=message.step, metrics=message.metrics, export=message.export)

    def _serve(self, status: str, message: str) -> None:
        """The child can be counted on: show that, and look at the chief from now on."""
        self._run(serving_since=self.now)
        self._begin_to_ask()
        self._show(status=status, message=message)

    def _begin_to_ask(self) -> None:
        self._set(silence=self.state.silence.begun(self.now))
        self._do(AskChief())

    def _on_end(self, returncode: int) -> None:
        child, ending = self._child, self.state.ending
        how = restart.how_it_ended(returncode)
        self._run(serving_since=None, epoch=None)
        if ending is not None:
            if self.follower.part is Part.SCRIPT:
                self._do(Say(f"the script {how}"))
            self._do(End(ending))
            return
        if self.state.last_step is not None and returncode == exit_codes.DONE:
            self._do(End(_EVALUATED))
            return
        if child.replacing:
            self._start_child()
            return
        if self._is_through(returncode):
            return
        why = child.failure or f"{self.follower.words.process} {how}"
        outcome = self._given_up(returncode, why)
        if outcome is not None:
            self._do(End(outcome))
            return
        served = child.serving_since
        if served is not None and self.now - served >= self.follower.timing.steady:
            self._set(budget=self.state.budget.refilled())
        budget = self.state.budget.after_one()
        if budget is None:
            self._do(End(restart.given_up(self.state.budget, returncode, why)))
            return
        delay = restart.delay(budget.spent, self.follower.timing.backoff)
        self._set(budget=budget, start_at=self.now + delay)
        self._do(Say(f"{why}; starting it again in {delay:g} s"))
        self._show(status=STARTING, message=f"starting again: {why}")

    def _is_through(self, returncode: int) -> bool:
        """Whether the child that ended so has done its part, and no other is needed for now."""
        part, child = self.follower.part, self._child
        if part is Part.SCRIPT and returncode == exit_codes.DONE:
            message = "the script is done here; waiting for the end of the attempt"
        elif part is not Part.TRAIN or child.let_go_in is None:
            return False
        elif returncode == exit_codes.DONE:
            message = f"done here; waiting for {self._chief} to finish"
        elif returncode == exit_codes.STOPPED and self.follower.bound:
            # Not asked by us: some worker was asked to end, so all of them ended at one step.
            message = f"stopped with another worker; waiting for {self._chief} to start again"
        else:
            return False
        self._run(through_with=child.let_go_in)
        self._do(Say(message))
        self._show(status=WAITING, message=message)
        return True

    def _given_up(self, returncode: int, why: str) -> Outcome | None:
        """How this supervisor ends after a child that is not to be started again."""
        part = self.follower.part
        if part is Part.SCRIPT:
            if returncode < 0:
                return None  # it was lost, as any process can be
            return Outcome(exit_codes.of_script(returncode), FAILED, why)
        if part is Part.EVALUATE and returncode == exit_codes.NOT_OWNER:
            return Outcome(exit_codes.DONE, SUPERSEDED, why)
        if returncode == exit_codes.CONFIG:
            return Outcome(exit_codes.CONFIG, FAILED, why)
        return None

    def _end_child(self, outcome: Outcome, grace: float) -> None:
        """End the child, then this supervisor; the first reason stands."""
        if self.state.ending is None:
            self._set(ending=outcome, kill_at=self.now + grace)
            if self.state.child is not None and self._child.alive:
                self._do(Terminate())
        ending = self.state.ending
        assert ending is not None
        if self.state.child is None or not self._child.alive:
            self._do(End(ending))

    # The chief

    def _on_chief(self, chief: Mapping[str, Any], seen: ChiefSeen) -> None:
        if self.state.last_step is not None:
            return  # what is left is its own affair
        if not self.follower.never_ends_by_itself and self._is_over_by(chief, seen):
            self._end_with(chief, seen)
            return
        epoch = chief.get("epoch")
        ours = chief.get("attempt") == self.follower.config.cluster.attempt
        # The file may be that of a pod that is gone: it lets nobody go.
        if seen.from_file or not ours or not isinstance(epoch, str) or self.state.child is None:
            return
        if self.follower.part is Part.TRAIN:
            self._refill_when_saved(chief)
        if self._child.through_with not in (None, epoch) and self.state.ending is None:
            work = "work left to do" if self.follower.part is Part.SCRIPT else "steps left to make"
            self._do(Say(f"the chief has started again: there may be {work}"))
            self._start_child()
        self._keep_epoch(epoch, chief.get("status"))
        self._let_go_when_due(epoch, chief.get("status"))

    def _is_over_by(self, chief: Mapping[str, Any], seen: ChiefSeen) -> bool:
        """Whether the attempt is over, as far as this document and the run on disk tell."""
        config = self.follower.config
        task, attempt = config.task, config.cluster.attempt
        from_file = seen.from_file
        if ends(chief, attempt, task.job_uid, from_file=from_file, task_type=task.type):
            return True
        # Whom an ending chief waits for believes the file alone, before the chief could be asked,
        # only where it names this task's Job. Nobody waits for an evaluator's first question.
        awaited = self.follower.part is not Part.EVALUATE
        if not from_file or (awaited and self.state.child is None):
            return False
        return seen.at_total or seen.superseded

    def _end_with(self, chief: Mapping[str, Any], seen: ChiefSeen) -> None:
        """The attempt is over: end with exit code 0, an evaluator when all is evaluated."""
        if self.follower.part is Part.EVALUATE and chief.get("status", DONE) == DONE:
            self._evaluate_the_last(chief, seen.evaluated)
            return
        message = f"the attempt is over: {chief.get('message')}"
        self._end_child(Outcome(exit_codes.DONE, DONE, message), self.follower.timing.grace)

    def _evaluate_the_last(self, chief: Mapping[str, Any], evaluated: int | None) -> None:
        saved = chief.get("checkpointStep")
        step = saved if isinstance(saved, int) else None
        self._set(last_step=(step,))
        self._do(AskChiefNoMore())
        if self.state.child is not None and self._child.alive:
            self._do(Say("training is done: evaluating what is left"))
            self._do(TellLastStep(step))
        elif step is not None and evaluated is not None and evaluated >= step:
            self._do(End(_EVALUATED))

    def _refill_when_saved(self, chief: Mapping[str, Any]) -> None:
        saved, known = chief.get("checkpointStep"), self.state.checkpoint_step
        if isinstance(saved, int) and (known is None or saved > known):
            self._set(budget=self.state.budget.refilled(), checkpoint_step=saved)
            self._show(checkpoint_step=saved)

    def _keep_epoch(self, epoch: str, status: Any) -> None:
        """Serve the chief's present child and no other; epochs.py says when one is adopted."""
        child, part = self._child, self.follower.part
        if not self.follower.bound or self.state.ending is not None:
            return
        if child.replacing or child.epoch == epoch:
            return
        begun = child.let_go_in is not None or part is Part.SERVE
        if child.alive and begun and child.epoch is not None:
            self._replace_child()
        elif child.alive or part is Part.SCRIPT:
            # A child that has not begun is as good for the next epoch.
            if status in epochs.adopts(self.follower.config.settings, self._type):
                self._run(epoch=epoch)
            elif part is Part.TRAIN:
                self._run(epoch=None)
            if self._child.epoch != child.epoch:
                self._show()

    def _replace_child(self) -> None:
        self._do(Say("the chief has started again: starting afresh with it"))
        self._run(replacing=True, serving_since=None)
        self._show(status=STARTING, message="starting afresh for the chief's new process")
        # Killed, not asked: nothing here is worth saving, and the chief waits.
        self._do(Kill())

    def _let_go_when_due(self, epoch: str, status: Any) -> None:
        child, part = self._child, self.follower.part
        if part not in (Part.TRAIN, Part.SCRIPT) or self.state.ending is not None:
            return
        waits = child.serving_since is not None and child.let_go_in is None
        ours = not self.follower.bound or epoch == child.epoch
        if not (waits and ours and status in epochs.WHILE_TRAINING):
            return
        if part is Part.TRAIN:
            self._run(let_go_in=epoch)
            self._do(Say(f"{self._chief} trains: beginning"))
            self._show(status=RUNNING, message="training")
        else:
            # That it waited says nothing for it.
            self._run(let_go_in=epoch, serving_since=self.now, alive=True)
            self._do(Say(f"{self._chief} has begun: starting the script"))
            self._show(status=RUNNING, message="the script runs")
        self._do(LetGo(child.number))

    def _without_word(self) -> None:
        """End a task whose chief is gone without a word, as a gate's end is: exit code 43."""
        follower = self.follower
        self._set(silence=self.state.silence.looked_at(self.now))
        silent, deadline = self.state.silence.seconds(self.now), follower.deadline
        if silent < QUIET_SECONDS and silent < deadline:
            return
        needed = not follower.never_ends_by_itself and self.state.last_step is None
        if self.state.ending is not None or not needed:
            return
        hint = follower.config.cluster.hint
        word, look = f"no word from {self._chief}", f". Look at: {hint}" if hint else ""
        if silent < deadline:
            self._do(SayWaiting(word, f"{word}, {silent:.0f} s of {deadline:.0f} s{look}"))
            return
        times = "" if follower.turn == 1 else f"{follower.turn} times "
        setting = f"{times}peers.deadlineSeconds"
        message = f"{word} for {deadline:g} s ({setting}): {follower.words.in_vain}{look}"
        outcome = Outcome(exit_codes.PEERS_LOST, FAILED, message)
        self._end_child(outcome, follower.stop_grace)

    # Small things

    def _do(self, action: Action) -> None:
        self.actions.append(action)

    def _set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def _run(self, **changes: Any) -> None:
        self._set(child=replace(self._child, **changes))

    def _show(self, **changes: Any) -> None:
        child = self._child
        serving = child.serving_since is not None
        self._do(ShowTask(serving, child.epoch, child.number - 1, changes))

    def _is_over(self) -> bool:
        return any(isinstance(action, End) for action in self.actions)

    @property
    def _child(self) -> ChildRun:
        assert self.state.child is not None
        return self.state.child

    @property
    def _chief(self) -> str:
        return f"{self.follower.config.chief_type}-0"

    @property
    def _type(self) -> str:
        return self.follower.config.task.type
