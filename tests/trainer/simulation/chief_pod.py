"""The pod of the task that drives the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.rules import actions as do
from tf_cluster_trainer.supervisor.rules import arrivals, chief_turn, guard
from tf_cluster_trainer.supervisor.rules import chief as chief_rules
from tf_cluster_trainer.supervisor.rules import election as election_rules
from tf_cluster_trainer.supervisor.rules import farewell as farewells
from tf_cluster_trainer.supervisor.rules.events import (
    Event,
    PeerSeen,
    RunSeen,
    StandingChanged,
    StandingLooked,
)
from tf_cluster_trainer.supervisor.rules.final_state import taken_by
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health
from tf_cluster_trainer.supervisor.rules.standing import Owning, Standing
from tf_cluster_trainer.supervisor.rules.visits import Visits, with_job
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    RUNNING,
    SAVING,
    SUPERSEDED,
    Outcome,
)
from tf_cluster_trainer.supervisor.status.report import first_document

from .children import Trainer
from .pods import TIMING, WATCH, FollowerPod, Pod
from .scripts import ChiefsScript

if TYPE_CHECKING:
    from .attempt import Job
    from .world import World

SILENT = Health(False, None, "", "", reason="refuses connections")


class ChiefPod(Pod):
    """The task that drives the run."""

    def __init__(self, world: World, job: Job, index: int) -> None:
        super().__init__(world, job, index)
        self._rules = chief_turn.Chief(self.config, TIMING)
        self._state = chief_turn.first_state(self._rules, self.engine.now)
        self._document = first_document(self.config)
        self._on_disk = self._refused = False
        self._visits = Visits()
        self._fruitless = 0  # children in a row without a new checkpoint
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

    def acted(self) -> None:
        self._state = self._state.acted(self.engine.now)

    def begin(self) -> None:
        if self._run_seen().unusable is not None:
            self.deliver(self._run_seen())
            return

        def arrived(_: object) -> None:
            run, taker = self._run_seen(), taken_by(self.world.disk.owner, self.job.uid)
            self.deliver(run if run.unusable else replace(run, taken_by=taker))

        def failed(error: Exception) -> None:
            self.deliver(RunSeen(unusable=Outcome(exit_codes.FAILED, FAILED, str(error))))

        self._drive(arrivals.arrive(self.job.uid), arrived, failed)

    def document(self) -> dict[str, Any]:
        return self._document.as_json()

    def visited(self, visitor: Pod) -> dict[str, Any]:
        self._visits = self._visits.asked(visitor.name, visitor.job.uid, self.engine.now)
        self._document = with_job(self._document, self._visits, self.name, visitor.name)
        self._visits = self._visits.left(visitor.name, self._document)
        return self.document()

    def let_go(self, number: int) -> None:
        if self._rules.script:
            self.start(ChiefsScript, number)
        else:
            super().let_go(number)

    def asked_to_stop(self) -> None:
        self._stops_serving = True

    def obey(self, action: do.Action) -> Event | None:
        if isinstance(action, do.Show):
            self._show(**action.changes)
        elif isinstance(action, do.Publish):
            self._publish()
        elif isinstance(action, do.KeepOnDisk):
            self._on_disk = True
        elif isinstance(action, do.Hear):
            self._hear(action.message)
        elif isinstance(action, do.StartChild):
            self._fruitless += 1
            self.world.child_started(self, self._fruitless)
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
        self._on_disk = True
        self.world.attempt_ended(self, outcome)
        self._show(status=outcome.status, message=outcome.message, final=outcome.final)

        def released(_: object) -> None:
            if outcome.final:
                self._serve_the_end(outcome)
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
            self._visits = self._visits.forgotten()
            for peer in self._rules.peers:
                self._look_at(peer.task, self._watch, NOT_ASKED, action.epoch)
        elif isinstance(action, do.HurryPeers):
            self._hurried_at = self.engine.now
        elif isinstance(action, do.GuardPeers):
            self._watching, self._guarding = False, True
            child = self._state.child
            assert child is not None
            for task in action.tasks:
                known = child.seen[task].server
                guarded = guard.Guarded(task, self.job.attempt.name, known)
                self._guard(guarded, self._watch, child.number)
        elif isinstance(action, do.AskNobody):
            self._watching = self._guarding = False
        elif isinstance(action, do.TellNews):
            for name in self._visits.last:
                self.world.tell_news(self, name)
        elif isinstance(action, do.KnowNoOtherJob):
            self._visits = self._visits.before_the_end()

    def _look_at(self, task: str, watch: int, known: Health, epoch: str) -> None:
        if watch != self._watch or not self._watching or self.gone:
            return
        asked = self._visits.has_asked(task, self.engine.now)
        announced = asked or self.engine.now - self._hurried_at >= 30.0
        attempt, number = self.job.attempt, self._state.child.number if self._state.child else 1

        def question(pod: Pod) -> Health:
            assert isinstance(pod, FollowerPod)
            answer = pod.health
            pod.asked_by_the_chief(attempt.name, epoch)
            return answer

        def answered(health: Health | None) -> None:
            found = health or SILENT
            if watch == self._watch and self._watching and found != known:
                self.deliver(PeerSeen(number, task, found))
            self.engine.soon(0.5, WATCH, self._look_at, task, watch, found, epoch)

        if announced:
            kind, _, index = task.partition("-")
            self.world.ask(self, attempt, kind, int(index), question, answered)
        else:
            self.engine.soon(0.5, WATCH, self._look_at, task, watch, known, epoch)

    def _guard(self, guarded: guard.Guarded, watch: int, child: int) -> None:
        if watch != self._watch or not self._guarding or self.gone:
            return

        def question(pod: Pod) -> Health:
            assert isinstance(pod, FollowerPod)
            return pod.health

        def answered(health: Health | None) -> None:
            if watch != self._watch or not self._guarding:
                return
            after, events = guard.look(guarded, health or SILENT, child)
            for event in events:
                self.deliver(event)
            self.engine.after(TIMING.guard, self._guard, after, watch, child)

        kind, _, index = guarded.task.partition("-")
        self.world.ask(self, self.job.attempt, kind, int(index), question, answered)

    # The run

    def _run_seen(self) -> RunSeen:
        disk = self.world.disk
        try:
            disk.check()
        except OSError as error:
            return RunSeen(unusable=Outcome(exit_codes.FAILED, FAILED, str(error)))
        return RunSeen(None if self._rules.script else disk.checkpoint, disk.progress)

    def _show(self, **changes: Any) -> None:
        self._document = replace(self._document, **changes)
        self.epoch = self._document.epoch
        self._publish()

    def _hear(self, message: protocol.Message) -> None:
        """As Report.on_message, as far as others act on it."""
        if isinstance(message, protocol.Saved):
            self._fruitless = 0
            self._show(checkpoint_step=message.step)
        elif isinstance(message, protocol.Phase) and message.status in (RUNNING, SAVING):
            self._show(status=message.status, message=message.message)

    def _publish(self) -> None:
        """progress.json: checked, flushed, renamed; the main thread waits for the disk."""
        disk = self.world.disk
        if not self._on_disk or not disk.owned_by(self.job.uid, self.uid):
            self._refused = False
            return
        document = self.document()

        def written() -> None:
            if not self.gone:
                disk.progress = document

        if self.engine.now < disk.slow_until and self.ending is None:
            seconds = disk.write(written, lambda: None)
            self.block(lambda free: self.engine.after(seconds, free))
        elif self.engine.now >= disk.broken_until:
            self._refused = False
            written()
        else:
            self._refused = True

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
            if self.paused:
                self.engine.after(self.paused_until - self.engine.now, go_on, result, error)
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
                arguments = (operation, go_on, lambda: go_on(error=broken))
                held_up = self.world.holds_up(self, operation)
                if held_up:
                    self.engine.after(held_up, self._operate, *arguments)
                else:
                    self._operate(*arguments)

        go_on()

    def _operate(
        self, operation: Any, went: Callable[..., None], failed: Callable[[], None]
    ) -> None:
        disk = self.world.disk
        write = partial(disk.write, slow=self.engine.now < self.slow_until)
        if isinstance(operation, election_rules.ReadOwner):
            write(lambda: went(disk.owner), failed)
        elif isinstance(operation, election_rules.ReadSuccessor):
            write(lambda: went(disk.successor), failed)
        elif isinstance(operation, arrivals.ReadArrivals):
            write(lambda: went(dict(disk.arrivals)), failed)
        elif isinstance(operation, arrivals.PutArrival):

            def put() -> None:
                taken = operation.number in disk.arrivals
                if not taken and not self.gone:
                    disk.arrivals[operation.number] = operation.job_uid
                went(not taken)

            write(put, failed)
        elif isinstance(operation, election_rules.CreateOwner):

            def create() -> None:
                free = disk.owner is None
                if free and not self.gone:
                    disk.owner = operation.owner
                went(free)

            write(create, failed)
        elif isinstance(operation, election_rules.ReplaceOwner):

            def replace() -> None:
                if operation.over is not None and disk.owner != operation.over:
                    went(False)
                    return
                self.engine.soon(0.0, 0.01, rename)

            def rename() -> None:
                if not self.gone:
                    before, disk.owner = disk.owner, operation.owner
                    self.world.owner_replaced(self, before)
                    went(True)

            write(replace, failed)
        elif isinstance(operation, election_rules.PostSuccessor):

            def post() -> None:
                if not self.gone:
                    disk.successor = operation.successor
                    went()

            write(post, failed)
        else:
            self.world.ask_pod(self, operation.owner.status, went)

    # The end

    def _serve_the_end(self, outcome: Outcome) -> None:
        for name in self._visits.last:
            self.world.tell_news(self, name)
        farewell = farewells.begin(self._rules, self._visits, self.engine.now)

        def look() -> None:
            nonlocal farewell
            farewell, then = farewells.look(
                farewell,
                self._visits,
                self.engine.now,
                stood=self._election is not None,
                refused=self._refused,
            )
            if isinstance(then, farewells.WriteAgain):
                self._publish()
            if isinstance(then, farewells.Leave) or self._stops_serving:
                self.exit(outcome.exit_code)
            else:
                self.engine.after(0.5, look)

        self.engine.after(0.1, look)
