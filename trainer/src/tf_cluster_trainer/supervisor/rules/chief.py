"""The chief: gate, election, one child after another, the attempt's final state.

The chief is whichever task drives the run: worker 0 where none is of that type. docs/formats.md has
the order and the exit codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import Any

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.rules import gate, restart
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    AskNobody,
    AskPeers,
    CountLosses,
    End,
    ForgetPace,
    GuardPeers,
    Hear,
    HurryPeers,
    KeepOnDisk,
    Kill,
    LetGo,
    LookAtRun,
    LookAtStanding,
    Publish,
    Recall,
    Say,
    SayWaiting,
    Show,
    StandForElection,
    StartChild,
    TellNews,
    Terminate,
)
from tf_cluster_trainer.supervisor.rules.events import (
    ChildEnded,
    ChildSaid,
    Event,
    PeerFailed,
    PeerReplaced,
    PeerSeen,
    RunSeen,
    StandingChanged,
    StandingLooked,
    StopAsked,
    Tick,
)
from tf_cluster_trainer.supervisor.rules.final_state import was_cut_off
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health, Peer
from tf_cluster_trainer.supervisor.rules.restart import AskStanding, Budget
from tf_cluster_trainer.supervisor.rules.stall import Replaced
from tf_cluster_trainer.supervisor.rules.standing import (
    Candidate,
    Lost,
    Owning,
    Standing,
    Superseded,
)
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

EVALUATOR = "evaluator-0"
_LOADING = "every task is there; the training process is loading the program"


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
    absent_since: float | None = None
    alone_since: float | None = None  # no worker answers
    first_report: int | None = None
    stepped: bool = False
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
    replaced: Replaced
    child: ChildRun | None = None
    stands: bool = False  # it entered the election
    standing: Standing | None = None
    began_once: bool = False
    ending: Outcome | None = None
    kill_at: float | None = None
    shown: tuple[str, str] = (STARTING, "")  # status and message
    checkpoint_step: int | None = None


def first_state(chief: Chief, now: float) -> State:
    """Before anything has happened."""
    return State(Budget(chief.config.settings.restarts), _nobody_replaced(chief, now))


def decide(chief: Chief, state: State, event: Event, now: float) -> tuple[State, list[Action]]:
    """What follows from an event at `now`, monotonic seconds. The first event is a RunSeen."""
    turn = _Turn(chief, state, now)
    turn.take(event)
    return turn.state, turn.actions


def awaited_at_the_end(chief: Chief, *, evaluator_asks: bool) -> tuple[str, ...]:
    """Who has to fetch the final state before the chief goes, if they come in time."""
    workers = tuple(peer.task for peer in chief.peers if peer.type == "worker")
    return (*workers, EVALUATOR) if evaluator_asks else workers


def _nobody_replaced(chief: Chief, now: float) -> Replaced:
    # Steps are heard of in reports: there is none for that long anyway.
    patience = max(chief.timing.stall, 3 * chief.config.settings.report_seconds)
    return Replaced.nobody(patience, now)


@dataclass
class _Turn:
    """One decision under way: the state as it becomes, and what is to be done."""

    chief: Chief
    state: State
    now: float
    actions: list[Action] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Handle the event, then whatever is due by now."""
        self._on(event)
        if self._is_over():
            return
        self._advance()
        if self.state.ending is not None and not self._child_is_alive:
            self._do(End(self.state.ending))
            return
        self._kill_when_due()
        self._kill_when_stalled()
        self._end_when_alone()
        if isinstance(event, Tick):
            self._do(Publish())

    def _on(self, event: Event) -> None:
        child = self.state.child
        if isinstance(event, RunSeen):
            self._on_run(event)
        elif isinstance(event, StopAsked):
            self._do(Say("asked to stop: the child saves and ends"))
            message = "stopped by SIGTERM; a new start resumes from the checkpoint"
            self._end_child(Outcome(exit_codes.STOPPED, STOPPED, message), self._timing.save)
        elif isinstance(event, StandingChanged):
            self._on_standing(event.standing)
        elif isinstance(event, StandingLooked):
            self._after_not_owner(event.standing)
        elif isinstance(event, PeerFailed):
            outcome = Outcome(exit_codes.CONFIG, FAILED, f"{event.task} failed: {event.message}")
            self._end_child(outcome, self._timing.save)
        elif child is None or getattr(event, "child", None) != child.number:
            return  # of a child before
        elif isinstance(event, PeerSeen):
            self._child(seen={**child.seen, event.task: event.health})
        elif isinstance(event, ChildSaid):
            self._on_message(child, event.message)
        elif isinstance(event, PeerReplaced):
            self._on_replaced(event.task)
        elif isinstance(event, ChildEnded):
            self._child(alive=False)
            self._on_end(event.returncode)

    # The run, as it is on disk

    def _on_run(self, run: RunSeen) -> None:
        first = self.state.child is None
        if first and run.unusable is None and not self.chief.script:
            self._set(checkpoint_step=run.step)
            self._do(Show({"checkpoint_step": run.step}))
        if run.unusable is not None:
            self._end(run.unusable)
        elif first and run.taken_by is not None:
            self._end(_superseded(f"attempt {run.taken_by}"))
        elif (done := self._done_before(run)) is not None:
            self._end(done)
        elif first:
            self._start_child()
        else:
            self._begin()

    def _end(self, outcome: Outcome) -> None:
        """End with this, and the child before it, if there is one."""
        if self.state.child is None:
            self._do(End(outcome))
        else:
            self._end_child(outcome, self._timing.grace)

    def _done_before(self, run: RunSeen) -> Outcome | None:
        """Whether nothing is left to do: the run is at its total."""
        settings, told = self.chief.config.settings, run.told or {}
        if self.chief.script:
            # The script of this very Job has ended well: its pod was lost since.
            task = self.chief.config.task
            job = (told.get("jobUids") or {}).get(task.type)
            here = (told.get("attempt"), job) == (self.chief.config.cluster.attempt, task.job_uid)
            if not here or told.get("status") != DONE:
                return None
            return Outcome(exit_codes.DONE, DONE, "the script has ended with exit code 0 before")
        if run.step is None or run.step < settings.steps:
            return None
        if was_cut_off(told):
            # Cut off between its last checkpoint and its export: a child makes up for that.
            self._do(Say(f"the run is at step {run.step}, but was not finished: finishing it"))
            return None
        self._do(Recall(run.step, told))
        return Outcome(
            exit_codes.DONE,
            DONE,
            f"run {settings.run_name}/{settings.run_id} is at step {run.step} of "
            f"{settings.steps} already: nothing to train. More steps go on from there; "
            "another run id starts afresh",
        )

    # One child after another

    def _start_child(self) -> None:
        script = self.chief.script
        number = 1 if self.state.child is None else self.state.child.number + 1
        seen = {peer.task: NOT_ASKED for peer in self.chief.peers}
        child = ChildRun(number, self.now, seen, alive=not script)
        self._set(child=child)
        # The epoch is shown before the child starts: who serves it needs as long to make room.
        self._show(epoch=self._epoch, status=STARTING, restarts=number - 1)
        self._do(ForgetPace())
        if not script:
            # It loads the program while its peers are waited for.
            self._do(StartChild(number, self._epoch))
        self._do(AskPeers(self._epoch))
        if script:
            self._child(phase=Phase.READY)
            self._do(HurryPeers())

    def _on_message(self, child: ChildRun, message: protocol.Message) -> None:
        if isinstance(message, protocol.Ready):
            self._child(phase=Phase.READY)
            self._do(HurryPeers())
        elif isinstance(message, protocol.Failure):
            self._child(failure=message.message)
        elif isinstance(message, protocol.Finishing):
            self._child(phase=Phase.FINISHING)
            self._do(AskNobody())
        elif isinstance(message, protocol.Result):
            self._child(result=message)
        elif isinstance(message, protocol.Saved):
            before = self.state.checkpoint_step
            if before is None or message.step > before:
                self._set(budget=self.state.budget.refilled())
        elif isinstance(message, protocol.Progress):
            self._set(replaced=self.state.replaced.hear(message.workers, self.now))
        if child.begun:
            self._say_first_step(child, message)
            if isinstance(message, protocol.Saved):
                self._set(checkpoint_step=message.step)
            elif isinstance(message, protocol.Phase):
                self._set(shown=(message.status, message.message))
            self._do(Hear(message))

    def _say_first_step(self, child: ChildRun, message: protocol.Message) -> None:
        if not isinstance(message, protocol.Progress):
            return
        if child.first_report is None:
            self._child(first_report=message.step)
        elif not child.stepped and message.step > child.first_report:
            self._child(stepped=True)
            self._do(Say(f"first step after {self.now - child.started:.1f} s"))

    def _on_standing(self, standing: Standing) -> None:
        self._set(standing=standing)
        if isinstance(standing, Owning) and standing.successor is not None:
            by = f"attempt {standing.successor}"
            self._do(Say(f"{by} takes over: this one saves and ends"))
            # As long as saving takes: the successor waits for it.
            self._end_child(_superseded(by), self._timing.save)
        elif isinstance(standing, Superseded):
            self._end_child(_superseded(standing.message), self._timing.grace)
        elif isinstance(standing, Lost):
            outcome = Outcome(exit_codes.FAILED, FAILED, standing.message)
            self._end_child(outcome, self._timing.grace)

    def _on_replaced(self, task: str) -> None:
        needed = self.chief.config.settings.combination.needed
        if self.chief.script or task.partition("-")[0] in needed:
            self._kill_for([task], f"{task} was replaced and has no part in this training process")
        else:
            self._set(replaced=self.state.replaced.note(task, self.now))

    def _kill_when_stalled(self) -> None:
        child, replaced = self.state.child, self.state.replaced
        tasks = replaced.overdue(self.now) if child and child.begun else []
        if tasks:
            why = f"no step for {replaced.patience:.0f} s, and {' and '.join(tasks)} was replaced"
            self._kill_for(tasks, why)

    def _end_when_alone(self) -> None:
        """Give up a training whose workers are all gone and make no step; as a gate's end is.

        Where one that is lost ends the step, the child ends by that; elsewhere it waits for them.
        """
        child, settings = self.state.child, self.chief.config.settings
        workers = [task for task in self.chief.guarded if task.startswith("worker-")]
        if child is None or child.phase is not Phase.TRAINING or not workers or self.chief.script:
            return
        if any(child.seen[task].reason is None for task in workers):
            self._child(alone_since=None)
            return
        since = self.now if child.alone_since is None else child.alone_since
        self._child(alone_since=since)
        deadline = settings.peer_deadline_seconds
        if self.now - max(since, self.state.replaced.moved_at) >= deadline:
            hint = self.chief.config.cluster.hint
            look = f". Look at: {hint}" if hint else ""
            words = f"no worker answers for {deadline:g} s (peers.deadlineSeconds){look}"
            outcome = Outcome(exit_codes.PEERS_LOST, FAILED, words)
            self._end_child(outcome, self._timing.save)

    def _kill_for(self, lost: Sequence[str], reason: str) -> None:
        """The child waits for these in vain: kill it, to be started again."""
        child = self.state.child
        if child is None or not child.alive or child.phase is Phase.FINISHING:
            return
        if self.state.ending is None and child.failure is None:
            self._do(CountLosses(tuple(lost)))
            self._child(failure=reason)
            self._do(Kill())

    def _end_child(self, outcome: Outcome, grace: float) -> None:
        """End the child, then this supervisor; the first reason stands."""
        if self.state.ending is not None:
            return
        self._set(ending=outcome, kill_at=self.now + grace)
        if self._child_is_alive:
            self._do(Terminate())

    def _kill_when_due(self) -> None:
        kill_at = self.state.kill_at
        if self._child_is_alive and kill_at is not None and self.now >= kill_at:
            self._set(kill_at=None)
            self._do(Say("the child was asked to end and did not: killing it"))
            self._do(Kill())

    def _on_end(self, returncode: int) -> None:
        self._do(AskNobody())
        child, ending = self.state.child, self.state.ending
        assert child is not None
        if self.chief.script:
            self._on_end_of_script(child, returncode)
            return
        done = None if child.result is None else _done(child.result, self._total)
        end = restart.of_chief(returncode, done=done, failure=child.failure)
        if ending is not None and not (isinstance(end, Outcome) and end.status == DONE):
            if ending.status != FAILED and child.failure is not None:
                self._do(Say(f"the child could not save: {child.failure}"))
            self._do(End(ending))
        elif isinstance(end, Outcome):
            self._do(End(end))
        elif isinstance(end, AskStanding):
            self._do(LookAtStanding())
        else:
            self._start_again(end.why)

    def _on_end_of_script(self, child: ChildRun, returncode: int) -> None:
        if self.state.ending is not None:
            self._do(Say(f"the script {restart.how_it_ended(returncode)}"))
            self._do(End(self.state.ending))
            return
        end = restart.of_chiefs_script(returncode, failure=child.failure)
        if isinstance(end, Outcome):
            self._do(End(end))
            return
        if self.now - child.started >= self._timing.steady:
            self._set(budget=self.state.budget.refilled())
        self._start_again(end.why)

    def _after_not_owner(self, standing: Standing | None) -> None:
        if isinstance(standing, Superseded):
            self._do(End(_superseded(standing.message)))
        elif isinstance(standing, Lost):
            self._do(End(Outcome(exit_codes.FAILED, FAILED, standing.message)))
        elif isinstance(standing, Owning):
            # A late write of the owner before, taken back since.
            self._start_again("the training process found another owner for a moment")
        else:
            words = "the training process found another owner of the run, but there is none now"
            self._do(End(Outcome(exit_codes.FAILED, FAILED, words)))

    def _start_again(self, why: str) -> None:
        budget = self.state.budget.after_one()
        if budget is None:
            outcome = restart.chief_given_up(self.state.budget, why, script=self.chief.script)
            self._do(End(outcome))
            return
        self._set(budget=budget)
        of = f"{budget.spent} of {budget.limit}"
        how = f" ({of})" if self.chief.script else f" from the checkpoint ({of} without a new one)"
        self._do(Say(f"{why}; starting it again{how}"))
        self._show(message=f"starting again: {why}")
        self._start_child()

    # The gate

    def _advance(self) -> None:
        """Let a waiting child go when everything is there; say what is not."""
        child, config = self.state.child, self.chief.config
        if child is None or child.begun or self.state.ending is not None:
            return
        bound = config.settings.epoch_bound
        peers, attempt = self.chief.peers, config.cluster.attempt
        absent = gate.missing(peers, child.seen, attempt, self._epoch, bound)
        if absent:
            since = self.now if child.absent_since is None else child.absent_since
            self._child(absent_since=since)
            self._wait_for(absent, self.now - since)
            return
        self._child(absent_since=None)
        standing = self.state.standing
        if child.phase is not Phase.READY:
            self._wait(_LOADING, _LOADING)
        elif not self.state.stands:
            self._set(stands=True)
            self._do(StandForElection())
        elif isinstance(standing, Candidate):
            self._wait(standing.message, standing.message)
        elif isinstance(standing, Owning):
            if self.state.began_once:
                self._begin()
            else:
                # The owner before may have reached the total while this one waited.
                self._do(LookAtRun())

    def _wait_for(self, absent: Sequence[gate.Missing], waited: float) -> None:
        config = self.chief.config
        deadline = config.settings.peer_deadline_seconds
        of = len(self.chief.peers)
        message = gate.waiting_for(absent, of, waited, deadline, config.cluster.hint)
        if waited >= deadline:
            words = f"given up {message} (peers.deadlineSeconds)"
            outcome = Outcome(exit_codes.PEERS_LOST, FAILED, words)
            self._end_child(outcome, self._timing.grace)
            return
        self._wait(tuple((one.peer.task, one.reason) for one in absent), message)

    def _wait(self, what: object, message: str) -> None:
        if self.state.shown != (WAITING, message):
            self._show(status=WAITING, message=message)
        self._do(SayWaiting(what, message))

    def _begin(self) -> None:
        child = self.state.child
        assert child is not None
        self._child(phase=Phase.TRAINING)
        seconds = self.now - child.started
        self._do(Say(f"every task is there after {seconds:.1f} s: training"))
        # Shown before it is so: an epoch is adopted only while the chief has not begun.
        self._set(began_once=True)
        self._do(KeepOnDisk())
        self._show(status=RUNNING, message=self.chief.working)
        self._do(TellNews())
        if self.chief.script:
            self._child(alive=True, started=self.now)
        self._do(LetGo(child.number))
        self._set(replaced=_nobody_replaced(self.chief, self.now))
        self._do(GuardPeers(self.chief.guarded))

    # Small things

    def _do(self, action: Action) -> None:
        self.actions.append(action)

    def _set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def _child(self, **changes: Any) -> None:
        assert self.state.child is not None
        self._set(child=replace(self.state.child, **changes))

    def _show(self, **changes: Any) -> None:
        status, message = self.state.shown
        shown = (changes.get("status", status), changes.get("message", message))
        self._set(shown=shown)
        self._do(Show(changes))

    def _is_over(self) -> bool:
        return any(isinstance(action, End) for action in self.actions)

    @property
    def _child_is_alive(self) -> bool:
        return self.state.child is not None and self.state.child.alive

    @property
    def _epoch(self) -> str:
        assert self.state.child is not None
        return f"{self.chief.config.task.pod_uid}/{self.state.child.number}"

    @property
    def _timing(self) -> Timing:
        return self.chief.timing

    @property
    def _total(self) -> int:
        return self.chief.config.settings.steps


def _superseded(by: str) -> Outcome:
    return Outcome(exit_codes.DONE, SUPERSEDED, f"superseded, nothing is left to do here: {by}")


def _done(result: protocol.Result, total: int) -> str:
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    words = [f"done at step {result.step} of {total}", metrics]
    if result.export:
        words.append(f"exported to {result.export}")
    return "; ".join(word for word in words if word)
