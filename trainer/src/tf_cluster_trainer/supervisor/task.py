"""The one loop of every task: an event comes, the rules decide, the supervisor acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.gate_log import GateLog
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log, severity_of
from tf_cluster_trainer.supervisor.process.child import Child, reap_orphans
from tf_cluster_trainer.supervisor.rules.actions import Action, End
from tf_cluster_trainer.supervisor.rules.events import ChildEnded, Event, Tick
from tf_cluster_trainer.supervisor.status.document import Outcome
from tf_cluster_trainer.supervisor.status.server import Board, StatusServer
from tf_cluster_trainer.supervisor.timing import Timing


class Supervisor(ABC):
    """One task, from start to exit code. A role knows what to decide and how to act."""

    def __init__(self, config: Config, inbox: Inbox, log: Log, timing: Timing) -> None:
        self._config = config
        self._inbox = inbox
        self._log = log
        self._timing = timing
        self._gate_log = GateLog(log.write)
        self._child: Child | None = None

    @property
    @abstractmethod
    def board(self) -> Board:
        """What its status port shows."""

    def before(self) -> Outcome | None:
        """Check what has to be right before the status port opens; an outcome ends the task."""
        return None

    @abstractmethod
    def first_event(self) -> Event:
        """The first event for the rules."""

    @abstractmethod
    def decide(self, event: Event) -> Sequence[Action]:
        """Let the rules decide what follows from an event."""

    @abstractmethod
    def do(self, action: Action) -> Event | None:
        """Carry out an action; return the answer, if the action is a question."""

    @abstractmethod
    def finish(self, outcome: Outcome) -> None:
        """Publish how the task ended; return when no other task needs this one."""

    def run(self) -> int:
        """Run the task and return its exit code. Raises PortTakenError before any wait."""
        outcome = self.before()
        if outcome is None:
            server = StatusServer(self._config, self.board)
            try:
                outcome = self._until_the_end()
                self.finish(outcome)
            finally:
                server.close()
        self._log.write(outcome.last_line, severity_of(outcome))
        return outcome.exit_code

    def _until_the_end(self) -> Outcome:
        event = self.first_event()
        while True:
            outcome = self._take(event)
            if outcome is not None:
                return outcome
            event = self._inbox.next_or_tick(self._timing.tick)
            if isinstance(event, ChildEnded) and self._child and self._child.number == event.child:
                self._child = None
            if isinstance(event, Tick):  # dear: the kernel asks each of our threads
                reap_orphans(self._child.pid if self._child else None)

    def _take(self, event: Event) -> Outcome | None:
        events = [event]
        while events:
            for action in self.decide(events.pop()):
                if isinstance(action, End):
                    return action.outcome
                answer = self.do(action)
                if answer is not None:
                    events.append(answer)
        return None
