"""The chief's supervisor: probe, gate, ownership, one child, the attempt's final state.

The chief is whichever task drives the run: worker 0 where none is of that type. One thread, one
inbox: everything that happens is an event, and the rules are applied in order. docs/formats.md has
the order and the exit codes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from .. import exit_codes, protocol
from ..config import Config
from ..run_directory.owner import Owner, OwnerUnreadableError, read_owner
from . import gate, probe
from .budget import Budget
from .child_process import Child, TalkingChild, how_it_ended, reap_orphans
from .contest import Candidate, Contest, Lost, Owning, Standing, Superseded
from .contest_thread import ContestThread
from .document import DONE, FAILED, RUNNING, STARTING, STOPPED, SUPERSEDED, WAITING, Outcome
from .events import (
    ChildEnded,
    ChildSaid,
    Event,
    Inbox,
    PeerFailed,
    PeerReplaced,
    StandingChanged,
    StopAsked,
)
from .final_state import was_cut_off
from .gate_log import GateLog
from .log import Log
from .own_address import by_ip
from .peer_guard import PeerGuard, Replaced
from .peers import Health, Peer, Watch, answers_as, peers_of, tell_news
from .progress_file import read_progress
from .report import Report
from .saved_step import CHECKPOINTS, saved_step, step_at_total
from .status_server import StatusServer
from .timing import Timing

# Of a child that is started again: a peer was lost to it, or it was asked to end by somebody else.
_LOST = (exit_codes.PEER_LOST, exit_codes.PEERS_LOST, exit_codes.STOPPED)
EVALUATOR = "evaluator-0"
EVALUATOR_ASKS = 10.0  # seconds; one that asked longer ago than that is not there any more
_LOADING = "every task is there; the training process is loading the program"


class Chief:
    """One attempt's chief, from start to exit code."""

    working = "training"  # what is shown while its child has work

    def __init__(
        self,
        config: Config,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
        timing: Timing,
    ) -> None:
        self._config = config
        self._timing = timing
        self._settings = config.settings
        self._command = command
        self._environment = environment
        self._inbox = inbox
        self._log = log
        self._report = Report(config, log.say, lambda task, why: inbox.put(PeerFailed(task, why)))
        self._budget = Budget(config.settings.restarts)
        self._peers = peers_of(config)
        self._bound = config.settings.epoch_bound or ""
        self._gate_log = GateLog(log.say)
        self._contest: ContestThread | None = None
        self._standing: Standing | None = None
        self._began_once = False
        self._ending: Outcome | None = None
        self._kill_at: float | None = None
        # The present child and what is known of it.
        self._number = 0
        self._child: Child | None = None
        self._watch: Watch | None = None
        self._guard: PeerGuard | None = None
        self._replaced = self._none_replaced()
        self._started = 0.0
        self._absent_since: float | None = None
        self._ready = self._begun = self._stepped = self._finishing = False
        self._first_report: int | None = None
        self._result: protocol.Result | None = None
        self._failure: str | None = None

    def run(self) -> int:
        """Do all of it. Raises PortTakenError before anything else is touched."""
        server = StatusServer(self._config, self._report.board)
        try:
            outcome = self._before_the_child()
            if outcome is None:
                self._start_child()
                outcome = self._until_the_end()
            return self._finish(outcome)
        finally:
            server.close()

    # Before the child

    def _before_the_child(self) -> Outcome | None:
        try:
            probe.writable(self._settings.run_dir, "log")
            checkpoints = self._settings.run_dir / CHECKPOINTS
            if os.path.lexists(checkpoints):
                probe.writable(checkpoints, "log")
            probe.readable(self._settings.data_dir, "data")
            if self._settings.script is None:
                self._report.update(checkpoint_step=saved_step(self._settings.run_dir))
        except probe.UnusableError as unusable:
            return Outcome(unusable.exit_code, FAILED, str(unusable))
        return self._long_superseded() or self._done_before()

    def _long_superseded(self) -> Outcome | None:
        """Whether a later attempt took the run from this Job: then no peer is worth waiting for."""
        try:
            owner = read_owner(self._settings.run_dir)
        except (OSError, OwnerUnreadableError):
            return None  # the contest says what is wrong with it
        if owner is None or self._config.task.job_uid not in owner.superseded:
            return None
        return self._superseded(f"attempt {owner.attempt}")

    def _done_before(self) -> Outcome | None:
        """Whether nothing is left to train: the run is at its total."""
        try:
            step = step_at_total(self._settings.run_dir, self._settings.steps)
        except probe.UnusableError as unusable:
            return Outcome(unusable.exit_code, FAILED, str(unusable))
        if step is None:
            return None
        told = read_progress(self._settings.run_dir) or {}
        if was_cut_off(told):
            # Cut off between its last checkpoint and its export: a child makes up for that.
            self._log.say(f"the run is at step {step}, but was not finished: finishing it")
            return None
        self._report.recall(step, told)
        return Outcome(
            exit_codes.DONE,
            DONE,
            f"run {self._settings.run_name}/{self._settings.run_id} is at step {step} of "
            f"{self._settings.steps} already: nothing to train. More steps go on from there; "
            "another run id starts afresh",
        )

    # One child after another

    def _start_child(self) -> None:
        self._number += 1
        self._ready = self._begun = self._stepped = self._finishing = False
        self._first_report = self._absent_since = None
        self._result = self._failure = None
        self._started = time.monotonic()
        self._gate_log = GateLog(self._log.say)
        epoch = f"{self._config.task.pod_uid}/{self._number}"
        # The epoch is shown before the child starts: who serves it needs as long to make room.
        self._report.update(epoch=epoch, status=STARTING, restarts=self._number - 1)
        self._report.new_child()
        self._launch(epoch)
        self._report.board.forget_visitors()
        question = urlencode({"attempt": self._config.cluster.attempt, "epoch": epoch})
        self._watch = Watch(
            self._peers,
            self._inbox,
            path=f"/healthz?{question}",
            announced=self._report.board.has_visited,
        )

    def _launch(self, epoch: str) -> None:
        """Start the child's process. It loads the program while its peers are waited for."""
        self._child = TalkingChild(
            self._number, self._command, self._environment, epoch, self._inbox, self._log
        )

    def _let_go(self) -> None:
        """Have the child train: everything is there, and the run is ours."""
        if isinstance(self._child, TalkingChild):
            self._child.go()

    def _until_the_end(self) -> Outcome:
        while True:
            event = self._inbox.next(self._timing.tick)
            reap_orphans(self._child.pid if self._child else None)
            outcome = self._on(event)
            if outcome is not None:
                return outcome
            self._advance()
            if self._ending is not None and self._child is None:
                return self._ending
            self._kill_when_due()
            self._kill_when_stalled()
            if event is None:
                self._report.publish()

    def _on(self, event: Event | None) -> Outcome | None:
        if isinstance(event, StopAsked):
            self._log.say("asked to stop: the child saves and ends")
            message = "stopped by SIGTERM; a new start resumes from the checkpoint"
            self._end_child(Outcome(exit_codes.STOPPED, STOPPED, message), grace=self._timing.save)
        elif isinstance(event, StandingChanged):
            self._on_standing(event.standing)
        elif isinstance(event, ChildSaid) and event.child == self._number:
            self._on_message(event.message)
        elif isinstance(event, PeerReplaced) and event.child == self._number:
            self._on_replaced(event.task)
        elif isinstance(event, PeerFailed):
            outcome = Outcome(exit_codes.CONFIG, FAILED, f"{event.task} failed: {event.message}")
            self._end_child(outcome, grace=self._timing.save)
        elif isinstance(event, ChildEnded) and event.child == self._number:
            self._child = None
            return self._on_end(event.returncode)
        return None

    def _on_message(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Ready):
            self._ready = True
            if self._watch is not None:
                self._watch.hurry()
        elif isinstance(message, protocol.Failure):
            self._failure = message.message
        elif isinstance(message, protocol.Finishing):
            self._finishing = True
            self._stop_asking()
        elif isinstance(message, protocol.Result):
            self._result = message
        elif isinstance(message, protocol.Saved):
            before = self._report.document.checkpoint_step
            if before is None or message.step > before:
                self._budget.refill()
        if isinstance(message, protocol.Progress):
            self._replaced.hear(message.workers)
        if self._begun:
            self._say_first_step(message)
            self._report.hear(message)

    def _say_first_step(self, message: protocol.Message) -> None:
        if not isinstance(message, protocol.Progress):
            return
        if self._first_report is None:
            self._first_report = message.step
        elif not self._stepped and message.step > self._first_report:
            self._stepped = True
            seconds = time.monotonic() - self._started
            self._log.say(f"first step after {seconds:.1f} s")

    def _on_standing(self, standing: Standing) -> None:
        self._standing = standing
        if isinstance(standing, Owning) and standing.successor is not None:
            message = f"attempt {standing.successor} takes over: this one saves and ends"
            self._log.say(message)
            # As long as saving takes: the successor waits for it.
            self._end_child(
                self._superseded(f"attempt {standing.successor}"), grace=self._timing.save
            )
        elif isinstance(standing, Superseded):
            self._end_child(self._superseded(standing.message), grace=self._timing.grace)
        elif isinstance(standing, Lost):
            outcome = Outcome(exit_codes.FAILED, FAILED, standing.message)
            self._end_child(outcome, grace=self._timing.grace)

    def _on_replaced(self, task: str) -> None:
        if task.partition("-")[0] in self._settings.combination.needed:
            self._kill_without(task)
        else:
            self._replaced.note(task)

    def _kill_without(self, task: str) -> None:
        self._kill_for([task], f"{task} was replaced and has no part in this training process")

    def _kill_when_stalled(self) -> None:
        tasks = self._replaced.overdue() if self._begun else []
        if tasks:
            names = " and ".join(tasks)
            patience = self._replaced.patience
            self._kill_for(tasks, f"no step for {patience:.0f} s, and {names} was replaced")

    def _kill_for(self, lost: Sequence[str], reason: str) -> None:
        """The child waits for these in vain: kill it, to be started again."""
        if self._child is None or self._finishing:
            return
        if self._ending is None and self._failure is None:
            self._report.count_losses(lost)
            self._failure = reason
            self._child.kill()

    def _superseded(self, by: str) -> Outcome:
        return Outcome(exit_codes.DONE, SUPERSEDED, f"superseded, nothing is left to do here: {by}")

    def _end_child(self, outcome: Outcome, *, grace: float) -> None:
        """End the child, then this supervisor; the first reason stands."""
        if self._ending is not None:
            return
        self._ending = outcome
        self._kill_at = time.monotonic() + grace
        if self._child is not None:
            self._child.terminate()

    def _kill_when_due(self) -> None:
        if self._child and self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill_at = None
            self._log.say("the child was asked to end and did not: killing it")
            self._child.kill()

    def _on_end(self, returncode: int) -> Outcome | None:
        self._stop_asking()
        how = how_it_ended(returncode)
        if returncode == exit_codes.DONE and self._result is not None:
            return Outcome(exit_codes.DONE, DONE, _done(self._result, self._settings.steps))
        if self._ending is not None:
            if self._ending.status != FAILED and self._failure is not None:
                self._log.say(f"the child could not save: {self._failure}")
            return self._ending
        words = self._failure or f"the training process {how}; its own words are above"
        if returncode == exit_codes.CONFIG:
            return Outcome(exit_codes.CONFIG, FAILED, words)
        if returncode == exit_codes.NOT_OWNER:
            return self._after_not_owner()
        if returncode in _LOST or returncode < 0:
            return self._start_again(self._failure or f"the training process {how}")
        if returncode == exit_codes.DONE:
            words = "the training process ended without a result: does the program call exit()?"
        return Outcome(exit_codes.FAILED, FAILED, words)

    def _after_not_owner(self) -> Outcome | None:
        standing = self._contest.look() if self._contest else None
        if isinstance(standing, Superseded):
            return self._superseded(standing.message)
        if isinstance(standing, Lost):
            return Outcome(exit_codes.FAILED, FAILED, standing.message)
        if isinstance(standing, Owning):
            # A late write of the owner before, taken back since.
            return self._start_again("the training process found another owner for a moment")
        message = "the training process found another owner of the run, but there is none now"
        return Outcome(exit_codes.FAILED, FAILED, message)

    def _start_again(self, why: str) -> Outcome | None:
        if not self._budget.spend():
            return Outcome(
                exit_codes.PEERS_LOST,
                FAILED,
                f"given up after {self._budget.spent} restarts without a new checkpoint "
                f"(failure.restarts); the last time: {why}",
            )
        self._log.say(
            f"{why}; starting it again from the checkpoint "
            f"({self._budget.spent} of {self._settings.restarts} without a new one)"
        )
        self._report.update(message=f"starting again: {why}")
        self._start_child()
        return None

    # The gate

    def _advance(self) -> None:
        """Let a waiting child go when everything is there; say what is not."""
        if self._begun or self._ending is not None or self._watch is None:
            return
        seen = self._watch.seen()
        epoch = self._report.document.epoch or ""
        absent = gate.missing(self._peers, seen, self._config.cluster.attempt, epoch, self._bound)
        if absent:
            if self._absent_since is None:
                self._absent_since = time.monotonic()
            self._wait_for(absent, time.monotonic() - self._absent_since)
            return
        self._absent_since = None
        if not self._ready:
            self._wait(_LOADING)
            self._gate_log.say(_LOADING, _LOADING)
        elif self._contest is None:
            self._contest = self._enter_contest()
        elif isinstance(self._standing, Candidate):
            self._wait(self._standing.message)
            self._gate_log.say(self._standing.message, self._standing.message)
        elif isinstance(self._standing, Owning):
            self._begin()

    def _wait_for(self, absent: Sequence[gate.Missing], waited: float) -> None:
        deadline = self._settings.peer_deadline_seconds
        message = gate.waiting_for(
            absent, len(self._peers), waited, deadline, self._config.cluster.hint
        )
        if waited >= deadline:
            words = f"given up {message} (peers.deadlineSeconds)"
            outcome = Outcome(exit_codes.PEERS_LOST, FAILED, words)
            self._end_child(outcome, grace=self._timing.grace)
            return
        self._wait(message)
        self._gate_log.say(tuple((one.peer.task, one.reason) for one in absent), message)

    def _wait(self, message: str) -> None:
        now = self._report.document
        if (now.status, now.message) != (WAITING, message):
            self._report.update(status=WAITING, message=message)

    def _enter_contest(self) -> ContestThread:
        task, cluster = self._config.task, self._config.cluster
        status = by_ip(cluster.status[task.type][task.index])
        me = Owner(task.job_uid, task.pod_uid, cluster.attempt, status=status)
        contest = Contest(
            self._settings.run_dir,
            me,
            period=self._timing.renewal,
            patience=self._timing.save,
            answers=lambda owner: answers_as(owner.status, owner.pod_uid),
            clock=time.monotonic,
            say=self._log.say,
        )
        return ContestThread(contest, self._timing.renewal, self._inbox)

    def _begin(self) -> None:
        if self._watch is None:
            return
        if not self._began_once:
            # The owner before may have reached the total while this one waited.
            outcome = self._done_before()
            if outcome is not None:
                self._end_child(outcome, grace=self._timing.grace)
                return
        self._watch.stop()
        self._begun = self._began_once = True
        seconds = time.monotonic() - self._started
        self._log.say(f"every task is there after {seconds:.1f} s: training")
        # Shown before it is so: an epoch is adopted only while the chief has not begun.
        self._report.begin()
        self._report.update(status=RUNNING, message=self.working)
        self._tell_news()
        self._let_go()
        self._replaced = self._none_replaced()
        self._guard = self._guard_peers(self._watch.seen())

    def _tell_news(self) -> None:
        # Only who has asked us: the name of another may not be there yet (peers.py).
        visited = self._report.board.has_visited
        tell_news(peer for peer in self._peers if visited(peer.task))

    def _none_replaced(self) -> Replaced:
        # Steps are heard of in reports: there is none for that long anyway.
        return Replaced(max(self._timing.stall, 3 * self._settings.report_seconds))

    def _watched(self) -> Sequence[Peer]:
        """Those whose replacement the child may not notice, and does not survive by itself."""
        # Without a chief the child takes care of that, or has heartbeats.
        return self._peers if self._settings.combination.has_chief else ()

    def _guard_peers(self, known: Mapping[str, Health]) -> PeerGuard | None:
        peers = self._watched()
        if not peers:
            return None
        return PeerGuard(
            peers,
            known,
            self._inbox,
            child=self._number,
            attempt=self._config.cluster.attempt,
            period=self._timing.guard,
        )

    def _stop_asking(self) -> None:
        for asker in (self._watch, self._guard):
            if asker is not None:
                asker.stop()

    # The end

    def _finish(self, outcome: Outcome) -> int:
        self._stop_asking()
        self._report.end(outcome)
        if self._contest is not None:
            self._contest.release(superseded=outcome.status == SUPERSEDED)
        if outcome.final:
            self._log.say(outcome.message)
            self._serve_the_end()
        self._log.say(outcome.last_line)
        return outcome.exit_code

    def _serve_the_end(self) -> None:
        until = time.monotonic() + self._settings.final_state_seconds
        board = self._report.board
        self._tell_news()
        askers = [peer.task for peer in self._peers if peer.task.startswith("worker-")]
        if board.has_visited(EVALUATOR, lately=EVALUATOR_ASKS):
            askers.append(EVALUATOR)
        while not board.end_seen_by(askers):
            if time.monotonic() >= until:
                self._log.say("not every task has fetched the final state; ending all the same")
                return
            if isinstance(self._inbox.next(0.1), StopAsked):
                return


def _done(result: protocol.Result, total: int) -> str:
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    words = [f"done at step {result.step} of {total}", metrics]
    if result.export:
        words.append(f"exported to {result.export}")
    return "; ".join(word for word in words if word)
