"""The chief's task: carries out with processes, threads and files what rules/chief.py decides."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from tf_cluster_trainer import protocol
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.log import INFO, WARNING
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.owner import Owner, OwnerUnreadableError, read_owner
from tf_cluster_trainer.supervisor import probe
from tf_cluster_trainer.supervisor.arrivals import arrive
from tf_cluster_trainer.supervisor.election import ElectionThread, RunElection
from tf_cluster_trainer.supervisor.gate_log import GateLog
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log, severity_of
from tf_cluster_trainer.supervisor.peers.ask import Watch, answers_as, tell_news
from tf_cluster_trainer.supervisor.peers.guard import PeerGuard
from tf_cluster_trainer.supervisor.peers.own_address import by_ip
from tf_cluster_trainer.supervisor.process.child import Child, TalkingChild
from tf_cluster_trainer.supervisor.process.script import script_process
from tf_cluster_trainer.supervisor.rules import chief as rules
from tf_cluster_trainer.supervisor.rules import chief_turn
from tf_cluster_trainer.supervisor.rules import farewell as rules_of_farewell
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    AskNobody,
    AskPeers,
    CountLosses,
    ForgetPace,
    GuardPeers,
    Hear,
    HurryPeers,
    KeepOnDisk,
    Kill,
    KnowNoOtherJob,
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
    Event,
    PeerFailed,
    RunSeen,
    StandingLooked,
    StopAsked,
)
from tf_cluster_trainer.supervisor.rules.farewell import Leave, WriteAgain
from tf_cluster_trainer.supervisor.rules.final_state import taken_by
from tf_cluster_trainer.supervisor.saved_step import CHECKPOINTS, saved_step
from tf_cluster_trainer.supervisor.status import termination
from tf_cluster_trainer.supervisor.status.document import FAILED, SUPERSEDED, Outcome
from tf_cluster_trainer.supervisor.status.progress_file import read_progress
from tf_cluster_trainer.supervisor.status.report import Report
from tf_cluster_trainer.supervisor.status.server import Board
from tf_cluster_trainer.supervisor.task import Supervisor
from tf_cluster_trainer.supervisor.timing import Timing


class Chief(Supervisor):
    """One attempt's chief, from start to exit code."""

    def __init__(
        self,
        config: Config,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
        timing: Timing,
    ) -> None:
        super().__init__(config, inbox, log, timing)
        self._command = command
        self._environment = environment
        self._rules = chief_turn.Chief(config, timing)
        self._state = chief_turn.first_state(self._rules, time.monotonic())
        self._report = Report(config, log.write, lambda task, why: inbox.put(PeerFailed(task, why)))
        self._election: ElectionThread | None = None
        self._watch: Watch | None = None
        self._guard: PeerGuard | None = None

    @property
    def board(self) -> Board:
        """What the status port shows."""
        return self._report.board

    def first_event(self) -> Event:
        """The first event: whether the directories can be used, and how far the run is."""
        settings = self._config.settings
        try:
            probe.writable(settings.run_dir, "log")
            checkpoints = settings.run_dir / CHECKPOINTS
            if os.path.lexists(checkpoints):
                probe.writable(checkpoints, "log")
            probe.readable(settings.data_dir, "data")
            self._arrive()
        except probe.UnusableError as unusable:
            return RunSeen(unusable=Outcome(unusable.exit_code, FAILED, str(unusable)))
        return self._run_seen(taken_by=self._taken_by())

    def decide(self, event: Event) -> Sequence[Action]:
        """Let the rules decide what follows from an event."""
        now = time.monotonic()
        self._state, actions = rules.decide(self._rules, self._state, event, now)
        return actions

    def do(self, action: Action) -> Event | None:
        """Do it; the answer, where it is a question."""
        answer = self._do(action)
        self._state = self._state.acted(time.monotonic())
        self._log.at(self._report.document.step)
        return answer

    def _do(self, action: Action) -> Event | None:
        if isinstance(action, Say):
            self._log.write(action.text, WARNING if action.warns else INFO)
        elif isinstance(action, SayWaiting):
            self._gate_log.write(action.what, action.text)
        elif isinstance(action, Show):
            self._report.update(**action.changes)
        elif isinstance(action, KeepOnDisk):
            self._report.begin()
        elif isinstance(action, Publish):
            self._report.publish()
        elif isinstance(action, Hear):
            self._report.on_message(action.message)
            if isinstance(action.message, protocol.Progress):
                self._log.progress(self._report.document)
        elif isinstance(action, Recall):
            self._report.recall(action.step, action.told)
        elif isinstance(action, ForgetPace):
            self._report.new_child()
        elif isinstance(action, CountLosses):
            self._report.count_losses(action.tasks)
        elif isinstance(action, StandForElection):
            self._election = self._stand()
        elif isinstance(action, LookAtStanding):
            return StandingLooked(self._election.look() if self._election else None)
        elif isinstance(action, LookAtRun):
            return self._run_seen()
        else:
            self._do_with_child(action)
            self._do_with_peers(action)
        return None

    def finish(self, outcome: Outcome) -> None:
        """Publish how it ended, release the run, serve a final state while tasks wait for it."""
        self._ask_nobody()
        # First: the volume that the report is kept on may hang.
        termination.leave(self._report.ended(outcome), self._environment, self._log.write)
        self._report.end(outcome)
        if self._election is not None:
            self._election.release(superseded=outcome.status == SUPERSEDED)
        if outcome.final:
            self._log.write(outcome.message, severity_of(outcome))
            self._serve_the_end()

    # The run

    def _arrive(self) -> None:
        """The later attempt is the one whose chief came later, whoever passes the gate first."""
        run_dir = self._config.settings.run_dir
        try:
            arrive(run_dir, self._config.task.job_uid)
        except OSError as error:
            raise probe.unusable(run_dir / layout.ARRIVALS, "log", "written", error) from None

    def _taken_by(self) -> str | None:
        """The attempt that took the run from this Job; then it is useless to wait for peers."""
        try:
            owner = read_owner(self._config.settings.run_dir)
        except (OSError, OwnerUnreadableError):
            return None  # the election says what is wrong with it
        return taken_by(owner, self._config.task.job_uid)

    def _run_seen(self, taken_by: str | None = None) -> RunSeen:
        run_dir = self._config.settings.run_dir
        try:
            step = None if self._config.settings.script else saved_step(run_dir)
        except probe.UnusableError as unusable:
            return RunSeen(unusable=Outcome(unusable.exit_code, FAILED, str(unusable)))
        return RunSeen(step=step, told=read_progress(run_dir), taken_by=taken_by)

    def _stand(self) -> ElectionThread:
        task, cluster = self._config.task, self._config.cluster
        status = by_ip(cluster.status[task.type][task.index])
        election = RunElection(
            self._config.settings.run_dir,
            Owner(task.job_uid, task.pod_uid, cluster.attempt, status=status),
            period=self._timing.renewal,
            patience=self._timing.save,
            answers=lambda owner: answers_as(owner.status, owner.pod_uid),
            clock=time.monotonic,
            log=self._log.write,
        )
        return ElectionThread(election, self._timing.renewal, self._inbox)

    # The child

    def _do_with_child(self, action: Action) -> None:
        if isinstance(action, StartChild):
            self._child = TalkingChild(
                action.number, self._command, self._environment, self._inbox, self._log
            )
        elif isinstance(action, LetGo):
            self._child = self._let_go(action.number)
        elif isinstance(action, Terminate) and self._child is not None:
            self._child.terminate()
        elif isinstance(action, Kill) and self._child is not None:
            self._child.kill()

    def _let_go(self, number: int) -> Child | None:
        if isinstance(self._child, TalkingChild):
            self._child.go()
            return self._child
        return script_process(number, self._config, self._environment, self._inbox, self._log)

    # The peers

    def _do_with_peers(self, action: Action) -> None:
        if isinstance(action, AskPeers):
            self._ask_peers(action.epoch)
        elif isinstance(action, HurryPeers) and self._watch is not None:
            self._watch.hurry()
        elif isinstance(action, GuardPeers):
            self._guard_peers(set(action.tasks))
        elif isinstance(action, TellNews):
            self._tell_news()
        elif isinstance(action, AskNobody):
            self._ask_nobody()
        elif isinstance(action, KnowNoOtherJob):
            self._report.board.know_no_other_job()

    def _ask_peers(self, epoch: str) -> None:
        assert self._state.child is not None
        self._gate_log = GateLog(self._log.write)
        self._report.board.forget_visitors()
        question = urlencode({"attempt": self._config.cluster.attempt, "epoch": epoch})
        self._watch = Watch(
            self._rules.peers,
            self._inbox,
            child=self._state.child.number,
            path=f"/healthz?{question}",
            announced=self._report.board.has_visited,
        )

    def _guard_peers(self, tasks: set[str]) -> None:
        assert self._watch is not None and self._state.child is not None
        self._watch.stop()
        if tasks:
            self._guard = PeerGuard(
                [peer for peer in self._rules.peers if peer.task in tasks],
                self._state.child.seen,
                self._inbox,
                child=self._state.child.number,
                attempt=self._config.cluster.attempt,
                period=self._timing.guard,
            )

    def _tell_news(self) -> None:
        # Only tasks that have contacted us: another's name may not exist yet (peers/ask.py).
        visited = self._report.board.has_visited
        tell_news(peer for peer in self._rules.peers if visited(peer.task))

    def _ask_nobody(self) -> None:
        for asker in (self._watch, self._guard):
            if asker is not None:
                asker.stop()

    def _serve_the_end(self) -> None:
        board = self._report.board
        self._tell_news()
        farewell = rules_of_farewell.begin(self._rules, board.visits(), time.monotonic())
        while True:
            farewell, then = rules_of_farewell.look(
                farewell,
                board.visits(),
                time.monotonic(),
                stood=self._election is not None,
                refused=self._report.owed,
            )
            if isinstance(then, Leave):
                if then.words:
                    self._log.write(then.words)
                return
            if isinstance(then, WriteAgain):
                self._report.publish()
            if isinstance(self._inbox.next(0.1), StopAsked):
                return
