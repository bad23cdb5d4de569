"""A task's pod: the rules decide, and this model of a supervisor's shell does what they want."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.rules import actions as do
from tf_cluster_trainer.supervisor.rules import arrivals, chief_turn, follower_turn
from tf_cluster_trainer.supervisor.rules import chief as chief_rules
from tf_cluster_trainer.supervisor.rules import election as election_rules
from tf_cluster_trainer.supervisor.rules import follower as follower_rules
from tf_cluster_trainer.supervisor.rules.events import (
    ChiefSeen,
    Event,
    PeerReplaced,
    PeerSeen,
    RunSeen,
    StandingChanged,
    StandingLooked,
    StopAsked,
    Tick,
)
from tf_cluster_trainer.supervisor.rules.final_state import was_cut_off
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health
from tf_cluster_trainer.supervisor.rules.standing import Owning, Standing
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    STARTING,
    SUPERSEDED,
    WAITING,
    Outcome,
)
from tf_cluster_trainer.supervisor.timing import Timing

from .children import Child, Evaluator, Server, Trainee, Trainer

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
            self.deliver(StopAsked())
            self.asked_to_stop()
            self.engine.after(grace, self.vanish, "killed after its grace period")

    def asked_to_stop(self) -> None:
        """A SIGTERM came, whatever is done with it."""

    def letting_go(self) -> None:
        """The child is about to be let go."""

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
    def server(self) -> tuple[str, int] | None:
        """Which server it runs; None: none that can be counted on."""
        if self.gone or not self.serving or self.child is None or not self.child.alive:
            return None
        return self.uid, self.child.number

    # What a subclass knows

    serving = False
    epoch: str | None = None

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
        while self._queue and not self._busy and self.ending is None and not self.gone:
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
                    assert self.child is not None
                    self.letting_go()
                    self.child.let_go()
                else:
                    answer = self.obey(action)
                    if answer is not None:
                        answers.append(answer)

    def block(self, until: Callable[[Callable[[], None]], None]) -> None:
        """The main thread waits for this; events wait with it."""
        self._busy = True

        def free() -> None:
            self._busy = False
            self._drain()

        until(free)

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
        self.deliver(ChiefSeen({"attempt": attempt, "epoch": epoch, "status": WAITING}))

    def news(self) -> None:
        """The chief says that there is news."""
        if self._asking:
            self._ask()

    def obey(self, action: do.Action) -> Event | None:
        if isinstance(action, do.ShowTask):
            self.serving, self.epoch = action.serving, action.epoch
        elif isinstance(action, do.StartChild):
            kinds = {
                follower_turn.Part.SERVE: Server,
                follower_turn.Part.TRAIN: Trainee,
                follower_turn.Part.EVALUATE: Evaluator,
            }
            self.start(kinds[self._rules.part], action.number)
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
        told = disk.progress
        total = self.job.attempt.total
        at_total = (disk.checkpoint or 0) >= total and not was_cut_off(told or {})
        gone = disk.owner is not None and self.job.uid in disk.owner.superseded
        return ChiefSeen(told, from_file=True, at_total=at_total, superseded=gone)


class ChiefPod(Pod):
    """The task that drives the run."""

    def __init__(self, world: World, job: Job, index: int) -> None:
        super().__init__(world, job, index)
        self._rules = chief_turn.Chief(self.config, TIMING)
        self._state = chief_turn.first_state(self._rules, self.engine.now)
        self._status: dict[str, Any] = {"status": STARTING, "message": "", "final": False}
        self._on_disk = self._owes_disk = False
        self._uids: dict[str, str | None] = {"chief": None, "worker": None, "evaluator": None}
        self._uids[job.kind] = job.uid
        self._visitors: dict[str, float] = {}
        self._saw_the_end: set[str] = set()
        self._watch = 0  # which one is under way; an older one stops
        self._watching = self._guarding = False
        self._hurried_at = math.inf
        self._election: election_rules.Election | None = None
        self._steps: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
        self._stepping = self._released = False
        self._stood: Standing | None = None
        self._stops_serving = False

    def decide(self, event: Event) -> list[do.Action]:
        self._state, actions = chief_rules.decide(self._rules, self._state, event, self.engine.now)
        return actions

    def begin(self) -> None:
        if self._run_seen().unusable is not None:
            self.deliver(self._run_seen())
            return

        def arrived(_: object) -> None:
            owner = self.world.disk.owner
            taken = owner is not None and self.job.uid in owner.superseded
            run = self._run_seen()
            if run.unusable is None and taken and owner is not None:
                run = RunSeen(run.step, run.told, taken_by=owner.attempt)
            self.deliver(run)

        def failed(error: Exception) -> None:
            self.deliver(RunSeen(unusable=Outcome(exit_codes.FAILED, FAILED, str(error))))

        self._drive(arrivals.arrive(self.job.uid), arrived, failed)

    def document(self) -> dict[str, Any]:
        return {
            "attempt": self.job.attempt.name,
            "jobUids": dict(self._uids),
            "epoch": self.epoch,
            **self._status,
            "checkpointStep": self._state.checkpoint_step,
        }

    def visited(self, visitor: Pod) -> dict[str, Any]:
        self._visitors[visitor.name] = self.engine.now
        kind, uid = visitor.job.kind, visitor.job.uid
        known = self._uids["worker"] and self._status["status"] not in (STARTING, WAITING)
        if kind == "worker" and uid and self.job.kind != "worker" and not known:
            self._uids["worker"] = uid
        if kind == "evaluator" and uid:
            self._uids["evaluator"] = uid
        if self._status["final"]:
            self._saw_the_end.add(visitor.name)
        return self.document()

    def asked_to_stop(self) -> None:
        self._stops_serving = True

    def obey(self, action: do.Action) -> Event | None:
        if isinstance(action, do.Show):
            self._status.update({k: v for k, v in action.changes.items() if k in self._status})
            self.epoch = action.changes.get("epoch", self.epoch)
            self._publish()
        elif isinstance(action, do.Publish):
            self._publish()
        elif isinstance(action, do.KeepOnDisk):
            self._on_disk = True
        elif isinstance(action, do.StartChild):
            self.start(Trainer, action.number)
        elif isinstance(action, do.LookAtRun):
            return self._run_seen()
        elif isinstance(action, do.StandForElection):
            self._stand()
        elif isinstance(action, do.LookAtStanding):
            self._look_at_standing()
        else:
            self._obey_about_peers(action)
        return None

    def finish(self, outcome: Outcome) -> None:
        self._watching = self._guarding = False
        self._status.update(status=outcome.status, message=outcome.message, final=outcome.final)
        self._on_disk = True
        self.world.attempt_ended(self, outcome)
        self._publish()

        def released(_: object) -> None:
            if outcome.final:
                self._serve_the_end(outcome, self.engine.now + 15.0)
            else:
                self.exit(outcome.exit_code)

        if self._election is None:
            released(None)
        else:
            election = self._election
            self._released = True
            superseded = outcome.status == SUPERSEDED
            self._queue_step(lambda: election.release(superseded=superseded), released)

    # Peers

    def _obey_about_peers(self, action: do.Action) -> None:
        if isinstance(action, do.AskPeers):
            self._watch += 1
            self._watching, self._guarding = True, False
            self._hurried_at = math.inf
            self._visitors.clear()
            for peer in self._rules.peers:
                self._look_at(peer.task, self._watch, NOT_ASKED, action.epoch)
        elif isinstance(action, do.HurryPeers):
            self._hurried_at = self.engine.now
        elif isinstance(action, do.GuardPeers):
            self._watching, self._guarding = False, True
            child = self._state.child
            assert child is not None
            for task in action.tasks:
                self._guard(task, self._watch, child.seen[task].server, 0)
        elif isinstance(action, do.AskNobody):
            self._watching = self._guarding = False
        elif isinstance(action, do.TellNews):
            for name in self._visitors:
                self.world.tell_news(self, name)

    def _look_at(self, task: str, watch: int, known: Health, epoch: str) -> None:
        if watch != self._watch or not self._watching or self.gone:
            return
        announced = task in self._visitors or self.engine.now - self._hurried_at >= 30.0
        attempt, number = self.job.attempt, self._state.child.number if self._state.child else 1

        def question(pod: Pod) -> Health:
            assert isinstance(pod, FollowerPod)
            answer = self._health_of(pod)
            pod.asked_by_the_chief(attempt.name, epoch)
            return answer

        def answered(health: Health | None) -> None:
            found = health or Health(False, None, "", "", reason="refuses connections")
            if watch == self._watch and self._watching and found != known:
                self.deliver(PeerSeen(number, task, found))
            self.engine.soon(0.5, WATCH, self._look_at, task, watch, found, epoch)

        if announced:
            kind, _, index = task.partition("-")
            self.world.ask(self, attempt, kind, int(index), question, answered)
        else:
            self.engine.soon(0.5, WATCH, self._look_at, task, watch, known, epoch)

    def _health_of(self, pod: Pod) -> Health:
        restarts = max(0, pod.children - 1)
        name = pod.job.attempt.name
        return Health(pod.serving, pod.epoch, name, pod.name, f"{pod.uid}/{restarts}")

    def _guard(self, task: str, watch: int, known: str, strange: int) -> None:
        if watch != self._watch or not self._guarding or self.gone:
            return

        def answered(health: Health | None) -> None:
            current = watch == self._watch and self._guarding
            child = self._state.child
            if current and child and (health is None) != (child.seen[task].reason is not None):
                found = health or Health(False, None, "", "", reason="refuses connections")
                self.deliver(PeerSeen(child.number, task, found))
            odd = strange + 1 if health and health.serving and health.server != known else 0
            now_known = known
            if odd >= 2 and health and watch == self._watch and self._guarding:
                now_known, odd = health.server, 0
                assert self._state.child is not None
                self.deliver(PeerReplaced(self._state.child.number, task))
            self.engine.after(TIMING.guard, self._guard, task, watch, now_known, odd)

        kind, _, index = task.partition("-")
        self.world.ask(self, self.job.attempt, kind, int(index), self._health_of, answered)

    # The run

    def _run_seen(self) -> RunSeen:
        disk = self.world.disk
        try:
            disk.check()
        except OSError as error:
            return RunSeen(unusable=Outcome(exit_codes.FAILED, FAILED, str(error)))
        return RunSeen(disk.checkpoint, disk.progress)

    def _publish(self) -> None:
        """progress.json: checked, flushed, renamed; the main thread waits for the disk."""
        disk = self.world.disk
        if not self._on_disk or not disk.owned_by(self.job.uid, self.uid):
            self._owes_disk = False
            return
        document = self.document()

        def written() -> None:
            if not self.gone:
                disk.progress = document

        if self.engine.now < disk.slow_until and self.ending is None:
            seconds = disk.write(written, lambda: None)
            self.block(lambda free: self.engine.after(seconds, free))
        elif self.engine.now >= disk.broken_until:
            self._owes_disk = False
            written()
        else:
            self._owes_disk = True

    # The election

    def _stand(self) -> None:
        me = Owner(self.job.uid, self.uid, self.job.attempt.name, status=self.uid)
        self._election = election_rules.Election(
            me,
            period=TIMING.renewal,
            patience=TIMING.save,
            place="owner.json",
            clock=lambda: self.engine.now,
            say=lambda text: self.engine.tell(self.label, text),
        )
        self._campaign()

    def _campaign(self) -> None:
        if self.gone or self._released:
            return
        election = self._election
        assert election is not None

        def stands(standing: Standing) -> None:
            if standing != self._stood:
                self._stood = standing
                self.deliver(StandingChanged(standing))
            period = TIMING.renewal if isinstance(standing, Owning) else TIMING.renewal / 3
            self.engine.after(period, self._campaign)

        self._queue_step(lambda: election.step(), stands)

    def _look_at_standing(self) -> None:
        def until(free: Callable[[], None]) -> None:
            def looked(standing: Standing | None) -> None:
                self._queue.insert(0, StandingLooked(standing))
                free()

            election = self._election
            if election is None:
                looked(None)
            else:
                self._queue_step(lambda: election.step(), looked)

        self.block(until)

    def _queue_step(self, make: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._steps.append((make, done))
        if not self._stepping:
            self._next_step()

    def _next_step(self) -> None:
        if self.gone or not self._steps:
            self._stepping = False
            return
        self._stepping = True
        make, done = self._steps.pop(0)

        def ended(result: Any) -> None:
            self._stepping = False
            done(result)
            if not self._stepping:
                self._next_step()

        self._drive(make(), ended)

    def _drive(
        self,
        step: Generator[Any, Any, Any],
        done: Callable[[Any], None],
        failed: Callable[[OSError], None] | None = None,
    ) -> None:
        """Have a generator's operations done, one after the other, each in its time."""

        def go_on(result: Any = None, error: OSError | None = None) -> None:
            if self.gone:
                return
            try:
                operation = step.send(result) if error is None else step.throw(error)
            except StopIteration as end:
                done(end.value)
            except OSError as error:
                assert failed is not None
                failed(error)
            else:
                broken = OSError("the disk is broken")
                self._operate(operation, go_on, lambda: go_on(error=broken))

        go_on()

    def _operate(
        self, operation: Any, went: Callable[..., None], failed: Callable[[], None]
    ) -> None:
        disk = self.world.disk
        if isinstance(operation, election_rules.ReadOwner):
            disk.write(lambda: went(disk.owner), failed)
        elif isinstance(operation, election_rules.ReadSuccessor):
            disk.write(lambda: went(disk.successor), failed)
        elif isinstance(operation, arrivals.ReadArrivals):
            disk.write(lambda: went(dict(disk.arrivals)), failed)
        elif isinstance(operation, arrivals.PutArrival):

            def put() -> None:
                taken = operation.number in disk.arrivals
                if not taken and not self.gone:
                    disk.arrivals[operation.number] = operation.job_uid
                went(not taken)

            disk.write(put, failed)
        elif isinstance(operation, election_rules.CreateOwner):

            def create() -> None:
                free = disk.owner is None
                if free and not self.gone:
                    disk.owner = operation.owner
                went(free)

            disk.write(create, failed)
        elif isinstance(operation, election_rules.ReplaceOwner):

            def replace() -> None:
                if operation.guarded and not disk.owned_by(self.job.uid, self.uid):
                    went(False)
                    return
                self.engine.soon(0.0, 0.01, rename)

            def rename() -> None:
                if not self.gone:
                    before, disk.owner = disk.owner, operation.owner
                    self.world.owner_replaced(self, before)
                    went(True)

            disk.write(replace, failed)
        elif isinstance(operation, election_rules.PostSuccessor):

            def post() -> None:
                if not self.gone:
                    disk.successor = operation.successor
                    went()

            disk.write(post, failed)
        else:
            self.world.ask_pod(self, operation.owner.status, went)

    # The end

    def _serve_the_end(self, outcome: Outcome, until: float) -> None:
        for name in self._visitors:
            self.world.tell_news(self, name)
        asked = self._visitors.get(chief_rules.EVALUATOR, -math.inf)
        evaluator = self.engine.now - asked <= 10.0
        awaited = chief_rules.awaited_at_the_end(self._rules, evaluator_asks=evaluator)

        def look() -> None:
            if self._owes_disk:
                self._publish()
            seen = self._saw_the_end.issuperset(awaited) and not self._owes_disk
            if seen or self.engine.now >= until or self._stops_serving:
                self.exit(outcome.exit_code)
            else:
                self.engine.after(0.5, look)

        self.engine.after(0.1, look)
