"""A task's pod: the rules decide, and this model of a supervisor's shell does what they want."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules import actions as do
from tf_cluster_trainer.supervisor.rules import follower as follower_rules
from tf_cluster_trainer.supervisor.rules import follower_turn
from tf_cluster_trainer.supervisor.rules.events import ChiefSeen, Event, StopAsked, Tick
from tf_cluster_trainer.supervisor.rules.final_state import is_at_total, taken_by
from tf_cluster_trainer.supervisor.rules.follower_turn import Part
from tf_cluster_trainer.supervisor.rules.gate import Health
from tf_cluster_trainer.supervisor.status.document import Outcome
from tf_cluster_trainer.supervisor.timing import Timing

from .children import Child, Evaluator, Server, Trainee
from .scripts import FollowersScript

if TYPE_CHECKING:
    from .attempt import Job
    from .world import World

TIMING = Timing(save=60.0, stall=30.0)
TICK, POLL, WATCH = 2.0, 2.0, 2.0


class Pod:
    """One pod of a Job or Deployment, from its start to its exit code."""

    def __init__(self, world: World, job: Job, index: int) -> None:
        self.world, self.job, self.index = world, job, index
        self.engine = world.engine
        self.name = f"{job.kind}-{index}"
        self.uid = world.new_uid()
        self.config = job.attempt.config(job.kind, index, job.uid, self.uid)
        self.up = False  # its status port answers
        self.gone = False
        self.gone_at = 0.0
        self.child: Child | None = None
        self.children = 0
        self.ending: Outcome | None = None
        self.paused_until = self.slow_until = 0.0  # stopped; its disk is slow
        self.stopping = False
        self.closes_nothing = False  # it went with its node
        self.unheard_until = 0.0  # what it asks gets no answer
        self._queue: list[Event] = []
        self._busy = False
        self.engine.soon(0.2, 3.0, self._begin)

    def deliver(self, event: Event) -> None:
        """Put an event into the inbox."""
        if self.gone or self.ending is not None:
            return
        self._queue.append(event)
        self._drain()

    def stop(self, grace: float) -> None:
        """SIGTERM, and SIGKILL after the grace period."""
        if not self.gone:
            self.stopping = True
            self.deliver(StopAsked())
            self.asked_to_stop()
            self.engine.after(grace, self.vanish, "killed after its grace period")

    def asked_to_stop(self) -> None:
        """A SIGTERM came, whatever is done with it."""

    def letting_go(self) -> None:
        """The child is about to be let go."""

    def let_go(self, number: int) -> None:
        """Have the waiting child begin."""
        assert self.child is not None
        self.child.let_go()

    def pause(self, seconds: float) -> None:
        """The supervisor is stopped (SIGSTOP); its child is not."""
        self.paused_until = max(self.paused_until, self.engine.now + seconds)
        self.engine.after(seconds, self._drain)

    @property
    def paused(self) -> bool:
        """Whether it is stopped now."""
        return self.engine.now < self.paused_until

    def vanish(self, why: str) -> None:
        """The process is gone without a word, and its child with it."""
        if not self.gone:
            self.engine.tell(self.label, why)
            self._end()
            self.world.pod_lost(self)

    @property
    def label(self) -> str:
        """For the story."""
        return f"{self.job.attempt.name}/{self.name}/{self.uid}"

    @property
    def server(self) -> Child | None:
        """The child that serves; None: none that can be counted on."""
        if self.gone or not self.serving or self.child is None or not self.child.alive:
            return None
        return self.child

    # What a subclass knows

    serving = False
    epoch: str | None = None

    @property
    def server_name(self) -> str:
        """Which server that is, as /healthz tells it."""
        return f"{self.uid}/{self.children}"

    def decide(self, event: Event) -> list[do.Action]:
        """What the rules want."""
        raise NotImplementedError

    def begin(self) -> None:
        """Deliver what they begin with."""
        raise NotImplementedError

    def obey(self, action: do.Action) -> Event | None:
        """Do it."""
        raise NotImplementedError

    def finish(self, outcome: Outcome) -> None:
        """Show how it ended, and leave."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """Its status."""
        raise NotImplementedError

    def visited(self, visitor: Pod) -> dict[str, Any]:
        """Its status, asked by another task."""
        return self.document()

    # The loop

    def _begin(self) -> None:
        if self.gone:
            return
        self.up = True
        self.begin()
        self.engine.soon(0.5, TICK, self._tick)

    def _tick(self) -> None:
        if not self.gone and self.ending is None:
            self.deliver(Tick())
            self.engine.after(TICK, self._tick)

    def _drain(self) -> None:
        while self._queue and not (self._busy or self.paused or self.ending or self.gone):
            self._take(self._queue.pop(0))

    def _take(self, event: Event) -> None:
        answers = [event]
        while answers:
            for action in self.decide(answers.pop()):
                if isinstance(action, do.End):
                    self.ending = action.outcome
                    self.engine.tell(self.label, f"ends: {action.outcome.last_line}")
                    self.finish(action.outcome)
                    return
                if isinstance(action, do.Say):
                    self.engine.tell(self.label, action.text)
                elif isinstance(action, do.Kill):
                    if self.child:
                        self.child.kill()
                elif isinstance(action, do.Terminate):
                    if self.child:
                        self.child.terminate()
                elif isinstance(action, do.LetGo):
                    self.letting_go()
                    self.let_go(action.number)
                else:
                    answer = self.obey(action)
                    if answer is not None:
                        answers.append(answer)

    def block(self, until: Callable[[Callable[[], None]], None]) -> None:
        """The main thread waits for this; events wait with it."""
        self._busy = True

        def free() -> None:
            self._busy = False
            self.acted()
            self._drain()

        until(free)

    def acted(self) -> None:
        """The main thread has done what it waited for."""

    def exit(self, code: int) -> None:
        """The process ends."""
        if not self.gone:
            self._end()
            self.world.pod_ended(self, code)

    def _end(self) -> None:
        self.gone, self.up = True, False
        self.gone_at = self.engine.now
        if self.child is not None:
            self.child.alive = False

    def start(self, kind: type[Child], number: int) -> None:
        """Start the child's process."""
        self.child = kind(self, number)
        self.children = number


_CHILDREN: dict[Part, type[Child]] = {
    Part.SERVE: Server,
    Part.TRAIN: Trainee,
    Part.EVALUATE: Evaluator,
}


class FollowerPod(Pod):
    """Every task but the chief."""

    def __init__(self, world: World, job: Job, index: int) -> None:
        super().__init__(world, job, index)
        self._rules = follower_turn.Follower(self.config, TIMING)
        self._state = follower_turn.first_state(self._rules)
        self._asking = self._asked = False

    def decide(self, event: Event) -> list[do.Action]:
        self._state, actions = follower_rules.decide(
            self._rules, self._state, event, self.engine.now
        )
        known = self._state.child
        if self.child and known and known.epoch and known.number == self.child.number:
            self.child.known.add(known.epoch)
        return actions

    def begin(self) -> None:
        self.deliver(self._from_file())

    def document(self) -> dict[str, Any]:
        return {"serving": self.serving, "epoch": self.epoch}

    def letting_go(self) -> None:
        assert self._state.child is not None
        self.world.let_go(self, self._state.child.let_go_in)

    def asked_by_the_chief(self, attempt: str, epoch: str) -> None:
        """A chief that waits names its epoch."""
        seen = follower_rules.asked_by_the_chief(attempt, epoch)
        self.engine.soon(0.0, 0.2, self.deliver, seen)  # its main thread comes to it later

    def let_go(self, number: int) -> None:
        if self._rules.part is Part.SCRIPT:
            self.start(FollowersScript, number)
        else:
            super().let_go(number)

    @property
    def health(self) -> Health:
        """What its /healthz says."""
        name = self.job.attempt.name
        return Health(self.serving, self.epoch, name, self.name, self.server_name)

    @property
    def server_name(self) -> str:
        number = self._state.child.number if self._state.child else 1
        return f"{self.uid}/{number - 1}"

    def news(self) -> None:
        """The chief says that there is news."""
        if self._asking:
            self._ask()

    def obey(self, action: do.Action) -> Event | None:
        if isinstance(action, do.ShowTask):
            self.serving, self.epoch = action.serving, action.epoch
        elif isinstance(action, do.StartChild):
            self.start(_CHILDREN[self._rules.part], action.number)
        elif isinstance(action, do.AskChief):
            if not self._asking:
                self._asking = True
                self._poll()
        elif isinstance(action, do.AskChiefNoMore):
            self._asking = False
        elif isinstance(action, do.TellLastStep) and self.child:
            self.child.finish(action.step)
        return None

    def finish(self, outcome: Outcome) -> None:
        self._asking = False
        if outcome.exit_code == exit_codes.CONFIG and self.job.kind != "evaluator":
            self.world.tell_failure(self, outcome.message)
        self.engine.soon(0.01, 0.3, self.exit, outcome.exit_code)

    def _poll(self) -> None:
        if self._asking and not self.gone:
            self._ask()
            self.engine.soon(0.5 * POLL, 1.5 * POLL, self._poll)

    def _ask(self) -> None:
        attempt = self.job.attempt

        def answered(document: dict[str, Any] | None) -> None:
            self.deliver(self._from_file() if document is None else ChiefSeen(document))

        kind, index = attempt.chief
        self.world.ask(self, attempt, kind, index, lambda pod: pod.visited(self), answered)

    def _from_file(self) -> ChiefSeen:
        if self.job.kind == "ps":
            return ChiefSeen(None)
        disk = self.world.disk
        try:
            disk.check()
        except OSError:
            return ChiefSeen(None, from_file=True)
        step = None if self.config.settings.script else disk.checkpoint
        at_total = is_at_total(disk.progress, step, self.job.attempt.total)
        gone = taken_by(disk.owner, self.job.uid) is not None
        return ChiefSeen(disk.progress, from_file=True, at_total=at_total, superseded=gone)
