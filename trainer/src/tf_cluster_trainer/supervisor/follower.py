"""What the supervisors of all tasks but the chief do: keep a child while the attempt lasts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import exit_codes, protocol
from ..config import Config
from ..run_directory.owner import OwnerUnreadableError, read_owner
from . import epochs, probe
from .budget import Budget
from .chief_poll import ChiefPoll
from .child_process import Child, TalkingChild, how_it_ended, reap_orphans
from .document import DONE, FAILED, STARTING, STOPPED, WAITING, Outcome
from .events import ChiefSeen, ChildEnded, ChildSaid, Event, Inbox, StopAsked
from .final_state import ends, was_cut_off
from .gate_log import GateLog
from .log import Log
from .report import first_document
from .saved_step import step_at_total
from .signs_of_life import SignsOfLife
from .status_server import Board, Condition, StatusServer
from .timing import Timing

# Without a word from the chief for so long a task says so.
_QUIET_SECONDS = 10.0
# A worker's turn to give up is its place among the workers that wait, but no later than this.
_LAST_TURN = 8


class Follower(ABC):
    """One task, from start to exit code. What its child is for, a subclass knows."""

    starting: str  # what is shown while a child starts
    process: str  # what a child is called
    # Whether a chief that ends waits for this task's question: then the file alone, before the
    # chief could be asked, is believed only where it names this task's Job.
    is_awaited = True
    in_vain = "nothing can be trained"  # without the client

    def __init__(
        self,
        config: Config,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
        timing: Timing,
    ) -> None:
        self._timing = timing
        self._config = config
        self._task = config.task
        self._command = command
        self._environment = environment
        self._inbox = inbox
        self._log = log
        self._budget = Budget(config.settings.restarts)
        self._document = first_document(config)
        self._poll = ChiefPoll(config, inbox, timing)
        self._board = Board(
            config.task, self._document, self._asked_by_the_chief, hears_news=self._poll.now
        )
        self._ending: Outcome | None = None
        self._kill_at: float | None = None
        self._start_at: float | None = None
        self._life = SignsOfLife(config.cluster.attempt)
        self._silence = GateLog(log.say)
        # The present child and what is known of it.
        self._number = 0
        self._child: Child | None = None
        self._serving_since: float | None = None
        self._replacing = False
        self._epoch: str | None = None
        self._failure: str | None = None

    def run(self) -> int:
        """Do all of it. Raises PortTakenError before anything else is touched."""
        server = StatusServer(self._config, self._board)
        try:
            # An attempt that is over needs no server: look before importing TensorFlow.
            outcome = self._on(self._poll.file())
            if outcome is None:
                self._start_child()
                outcome = self._until_the_end()
            if outcome.exit_code == exit_codes.CONFIG and not self._config.evaluates:
                self._poll.tell_failure(outcome.message)
            self._show(status=outcome.status, message=outcome.message, exit_code=outcome.exit_code)
            self._log.say(outcome.last_line)
            return outcome.exit_code
        finally:
            self._poll.stop()
            server.close()

    def _asked_by_the_chief(self, attempt: str, epoch: str) -> None:
        # A chief asks only while it waits; it may find us before we find it.
        self._inbox.put(ChiefSeen({"attempt": attempt, "epoch": epoch, "status": WAITING}))

    @abstractmethod
    def _on_message(self, message: protocol.Message) -> None:
        """Hear the child's word; a Failure is noted already."""

    @abstractmethod
    def _on_chief(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        """Act on the chief's document; an outcome ends this supervisor."""

    def _is_through(self, returncode: int) -> bool:
        """Whether the child that ended so has done its part, and no other is needed for now."""
        return False

    def _given_up(self, returncode: int, why: str) -> Outcome | None:
        """How this supervisor ends after a child that is not to be started again."""
        if returncode == exit_codes.CONFIG:
            return Outcome(exit_codes.CONFIG, FAILED, why)
        return None

    def _start_child(self) -> None:
        self._number += 1
        self._start_at = None
        self._serving_since = self._epoch = self._failure = None
        self._replacing = False
        self._show(status=STARTING, message=self.starting)
        self._launch()

    def _launch(self) -> None:
        """Start the child's process; the base class starts one of ours, which speaks."""
        self._child = TalkingChild(
            self._number, self._command, self._environment, "", self._inbox, self._log
        )

    def _until_the_end(self) -> Outcome:
        while True:
            event = self._inbox.next(self._timing.tick)
            reap_orphans(self._child.pid if self._child else None)
            outcome = self._on(event) or self._without_word()
            if outcome is not None:
                return outcome
            now = time.monotonic()
            if self._child is not None and self._kill_at is not None and now >= self._kill_at:
                self._kill_at = None
                self._child.kill()
            if self._start_at is not None and now >= self._start_at:
                self._start_child()

    def _on(self, event: Event | None) -> Outcome | None:
        if isinstance(event, StopAsked):
            outcome = Outcome(exit_codes.STOPPED, STOPPED, "stopped by SIGTERM")
            return self._end_child(outcome, grace=self._stop_grace())
        if isinstance(event, ChiefSeen) and (event.document is not None or event.from_file):
            chief = event.document or {}
            self._life.note(chief, from_file=event.from_file)
            return self._on_chief(chief, from_file=event.from_file)
        if isinstance(event, ChildSaid) and event.child == self._number:
            if isinstance(event.message, protocol.Failure):
                self._failure = event.message.message
            self._on_message(event.message)
        elif isinstance(event, ChildEnded) and event.child == self._number:
            self._child = None
            return self._on_end(event.returncode)
        return None

    def _stop_grace(self) -> float:
        """Seconds that a child has to end in when this task was asked to stop."""
        return self._timing.grace

    def _serves(self, status: str, message: str) -> None:
        """The child can be counted on: show that, and look at the chief from now on."""
        self._serving_since = time.monotonic()
        self._begin_to_ask()
        self._show(status=status, message=message)

    def _begin_to_ask(self) -> None:
        """Look at the chief from now on, and count the time without a word from it."""
        self._life.begin()
        self._poll.begin()

    def _without_word(self) -> Outcome | None:
        """The end of a task whose chief is gone without a word, as a gate's is: exit code 43."""
        silent = self._life.silent_for()
        if silent < _QUIET_SECONDS and silent < self._deadline():
            return None
        if self._ending is not None or not self._needs_the_chief():
            return None
        cluster, deadline = self._config.cluster, self._deadline()
        word = f"no word from {self._config.chief_type}-0"
        look = f". Look at: {cluster.hint}" if cluster.hint else ""
        if silent < deadline:
            self._silence.say(word, f"{word}, {silent:.0f} s of {deadline:.0f} s{look}")
            return None
        times = "" if self._turn() == 1 else f"{self._turn()} times "
        setting = f"{times}peers.deadlineSeconds"
        message = f"{word} for {deadline:g} s ({setting}): {self.in_vain}{look}"
        outcome = Outcome(exit_codes.PEERS_LOST, FAILED, message)
        return self._end_child(outcome, grace=self._stop_grace())

    def _deadline(self) -> float:
        """Seconds without a word from the chief after which this task ends."""
        return self._turn() * self._config.settings.peer_deadline_seconds

    def _needs_the_chief(self) -> bool:
        """Whether this task is there in vain without a chief; a ps never ends by itself."""
        return self._task.type != "ps"

    def _turn(self) -> int:
        """How many deadlines this worker waits: not all give up at once.

        Each that does is a failure of their Job, which has a few, and may leave its node to the
        task that all wait for.
        """
        before = 1 if self._config.settings.combination.has_chief else 0
        return min(self._task.index + before, _LAST_TURN)

    def _end_with(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        """End, with exit code 0, when this is our attempt's final state."""
        if self._is_over(chief, from_file=from_file):
            message = f"the attempt is over: {chief.get('message')}"
            outcome = Outcome(exit_codes.DONE, DONE, message)
            return self._end_child(outcome, grace=self._timing.grace)
        return None

    def _is_over(self, chief: Mapping[str, Any], *, from_file: bool) -> bool:
        attempt, job_uid = self._config.cluster.attempt, self._task.job_uid
        if ends(chief, attempt, job_uid, from_file=from_file, task_type=self._task.type):
            return True
        if not from_file or (self.is_awaited and self._number == 0):
            return False
        return self._is_at_total(chief) or self._is_superseded()

    def _is_at_total(self, chief: Mapping[str, Any]) -> bool:
        """Whether the run is done by any attempt: one with our total makes no step then.

        So no Job has to be named, and a chief may have ended before we could ask it, without a word
        where there was nothing left to train.
        """
        settings = self._config.settings
        if settings.script is not None or was_cut_off(chief):
            return False
        try:
            return step_at_total(settings.run_dir, settings.steps) is not None
        except probe.UnusableError:
            return False

    def _is_superseded(self) -> bool:
        """Whether a later attempt took the run from this very Job, that of worker 0 as the chief.

        What that attempt writes to progress.json names other Jobs.
        """
        try:
            owner = read_owner(self._config.settings.run_dir)
        except (OSError, OwnerUnreadableError):
            return False
        return owner is not None and self._task.job_uid in owner.superseded

    def _end_child(self, outcome: Outcome, *, grace: float) -> Outcome | None:
        """End the child, then this supervisor; the first reason stands."""
        if self._ending is None:
            self._ending = outcome
            self._kill_at = time.monotonic() + grace
            if self._child is not None:
                self._child.terminate()
        return self._ending if self._child is None else None

    def _on_end(self, returncode: int) -> Outcome | None:
        served = self._serving_since
        self._serving_since = self._epoch = None
        if self._ending is not None:
            return self._ending
        if self._replacing:
            self._start_child()
            return None
        if self._is_through(returncode):
            return None
        why = self._failure or f"{self.process} {how_it_ended(returncode)}"
        outcome = self._given_up(returncode, why)
        if outcome is not None:
            return outcome
        if served is not None and time.monotonic() - served >= self._timing.steady:
            self._budget.refill()
        if not self._budget.spend():
            message = f"given up after {self._budget.spent} restarts in a row; the last time: {why}"
            lost = returncode in (exit_codes.PEER_LOST, exit_codes.PEERS_LOST)
            return Outcome(exit_codes.PEERS_LOST if lost else exit_codes.FAILED, FAILED, message)
        delay = _delay(self._budget.spent, self._timing.backoff)
        self._log.say(f"{why}; starting it again in {delay:g} s")
        self._start_at = time.monotonic() + delay
        self._show(status=STARTING, message=f"starting again: {why}")
        return None

    def _keep_epoch(self, chief: Mapping[str, Any]) -> None:
        """Serve the chief's present child and no other; epochs.py says when one is adopted."""
        epoch = chief.get("epoch")
        if chief.get("attempt") != self._config.cluster.attempt or not isinstance(epoch, str):
            return
        if self._child is None or self._ending is not None or self._replacing:
            return
        adopting = epochs.adopts(self._config.settings, self._task.type)
        if self._epoch is None and chief.get("status") in adopting:
            self._epoch = epoch
            self._show()
        elif self._epoch is not None and self._epoch != epoch:
            self._log.say("the chief has started again: starting afresh with it")
            self._replacing = True
            self._serving_since = None
            self._show(status=STARTING, message="starting afresh for the chief's new process")
            # Killed, not asked: nothing here is worth saving, and the chief waits.
            self._child.kill()

    def _show(self, **changes: Any) -> None:
        restarts = max(0, self._number - 1)
        self._document = replace(
            self._document, now=time.time(), epoch=self._epoch, restarts=restarts, **changes
        )
        serving = self._serving_since is not None
        self._board.show(self._document, Condition(serving, self._epoch, restarts))


def _delay(restarts: int, backoff: float) -> float:
    """Seconds before this restart in a row: 0, then 1, 2, 4, 8, 8 … times the backoff."""
    return 0.0 if restarts <= 1 else backoff * float(2 ** min(restarts - 2, 3))
