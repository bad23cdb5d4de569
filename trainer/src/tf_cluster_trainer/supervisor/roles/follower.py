"""Every other task: does with processes, threads and files what rules/follower.py decides."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.log import ERROR, INFO, WARNING
from tf_cluster_trainer.run_directory import evaluations, evaluator_claim, layout
from tf_cluster_trainer.run_directory.owner import OwnerUnreadableError, read_owner
from tf_cluster_trainer.supervisor import probe
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log
from tf_cluster_trainer.supervisor.peers.chief_poll import ChiefPoll, NoPoll
from tf_cluster_trainer.supervisor.process.child import Child, TalkingChild
from tf_cluster_trainer.supervisor.process.script import script_process
from tf_cluster_trainer.supervisor.rules import follower as rules
from tf_cluster_trainer.supervisor.rules import follower_turn
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    AskChief,
    AskChiefNoMore,
    Kill,
    LetGo,
    Say,
    SayWaiting,
    ShowTask,
    StartChild,
    TellLastStep,
    Terminate,
)
from tf_cluster_trainer.supervisor.rules.events import ChiefSeen, Event
from tf_cluster_trainer.supervisor.rules.final_state import is_at_total, taken_by
from tf_cluster_trainer.supervisor.saved_step import saved_step
from tf_cluster_trainer.supervisor.status.document import FAILED, Outcome
from tf_cluster_trainer.supervisor.status.report import first_document
from tf_cluster_trainer.supervisor.status.server import Board, Condition
from tf_cluster_trainer.supervisor.task import Supervisor
from tf_cluster_trainer.supervisor.timing import Timing


class Follower(Supervisor):
    """One task, from start to exit code."""

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
        self._rules = follower_turn.Follower(config, timing)
        self._state = follower_turn.first_state(self._rules)
        self._document = first_document(config)
        interactive = config.settings.interactive
        self._poll = NoPoll() if interactive else ChiefPoll(config, inbox, timing)
        self._board = Board(
            config.task, self._document, self._asked_by_the_chief, on_news=self._poll.now
        )

    @property
    def board(self) -> Board:
        """What the status port shows."""
        return self._board

    def before(self) -> Outcome | None:
        """Check that an evaluator can write its files; other tasks need no check."""
        settings, task = self._config.settings, self._config.task
        if not self._config.evaluates:
            return None
        try:
            probe.writable(settings.run_dir / layout.EVALUATOR_EVENTS, "log")
            probe.readable(settings.data_dir, "data")
            try:
                # From here on an older evaluator of this attempt writes nothing.
                evaluator_claim.post(settings.run_dir, self._config.cluster.attempt, task.pod_uid)
            except OSError as error:
                path = settings.run_dir / layout.EVALUATOR
                raise probe.unusable(path, "log", "write", error) from None
        except probe.UnusableError as unusable:
            self._log.write(str(unusable), ERROR)
            return Outcome(unusable.exit_code, FAILED, str(unusable))
        return None

    def first_event(self) -> Event:
        """The first event: progress.json. An attempt that is over needs no child."""
        return self._poll.file()

    def decide(self, event: Event) -> Sequence[Action]:
        """Let the rules decide what follows from an event."""
        if isinstance(event, ChiefSeen):
            self._log.at(self._step_of(event))
            event = self._with_the_run(event)
        self._state, actions = rules.decide(self._rules, self._state, event, time.monotonic())
        return actions

    def do(self, action: Action) -> None:
        """Do it."""
        if isinstance(action, Say):
            self._log.write(action.text, WARNING if action.warns else INFO)
        elif isinstance(action, SayWaiting):
            self._gate_log.write(action.what, action.text)
        elif isinstance(action, ShowTask):
            self._show(action)
        elif isinstance(action, AskChief):
            self._poll.begin()
        elif isinstance(action, AskChiefNoMore):
            self._poll.stop()
        else:
            self._do_with_child(action)

    def finish(self, outcome: Outcome) -> None:
        """Tell the chief of a failure that no retry can cure, and show how the task ended."""
        if outcome.exit_code == exit_codes.CONFIG and not self._config.evaluates:
            self._poll.tell_failure(outcome.message)
        self._poll.stop()
        self._document = replace(
            self._document,
            now=time.time(),
            status=outcome.status,
            message=outcome.message,
            exit_code=outcome.exit_code,
        )
        self._board.show(self._document, Condition(False, None, self._document.restarts))

    def _do_with_child(self, action: Action) -> None:
        if isinstance(action, StartChild):
            self._child = TalkingChild(
                action.number, self._command, self._environment, self._inbox, self._log
            )
        elif isinstance(action, LetGo):
            self._child = self._let_go(action.number)
        elif isinstance(action, TellLastStep) and isinstance(self._child, TalkingChild):
            self._child.finish(action.step)
        elif isinstance(action, Terminate) and self._child is not None:
            self._child.terminate()
        elif isinstance(action, Kill) and self._child is not None:
            self._child.kill()

    def _let_go(self, number: int) -> Child | None:
        if self._rules.part is follower_turn.Part.SCRIPT:
            return script_process(number, self._config, self._environment, self._inbox, self._log)
        if isinstance(self._child, TalkingChild):
            self._child.go()
        return self._child

    def _show(self, action: ShowTask) -> None:
        self._document = replace(
            self._document,
            now=time.time(),
            epoch=action.epoch,
            restarts=action.restarts,
            **action.changes,
        )
        condition = Condition(action.serving, action.epoch, action.restarts)
        self._board.show(self._document, condition)

    def _asked_by_the_chief(self, attempt: str, epoch: str) -> None:
        self._inbox.put(rules.asked_by_the_chief(attempt, epoch))

    def _with_the_run(self, seen: ChiefSeen) -> ChiefSeen:
        """Add what the run's directory says beside progress.json."""
        evaluated = self._evaluated()
        if not seen.from_file:
            return replace(seen, evaluated=evaluated)
        return replace(
            seen,
            at_total=self._is_at_total(seen),
            superseded=self._is_superseded(),
            evaluated=evaluated,
        )

    def _step_of(self, seen: ChiefSeen) -> int | None:
        """The step that the run is at; only this attempt's chief knows it."""
        told = seen.document or {}
        return told.get("step") if told.get("attempt") == self._config.cluster.attempt else None

    def _evaluated(self) -> int | None:
        """The last step that earlier evaluators have done, if a child may be unnecessary; else
        None.

        If the volume does not work it is None: that ends no task that has or starts a child.
        """
        if not self._config.evaluates or self._child is not None:
            return None
        try:
            record = evaluations.read(self._config.settings.run_dir)
        except OSError:
            return None
        return record.evaluated(self._config.export_best)

    def _is_at_total(self, seen: ChiefSeen) -> bool:
        settings = self._config.settings
        if settings.script is not None:
            return False
        try:
            step = saved_step(settings.run_dir)
        except probe.UnusableError:
            return False
        return is_at_total(seen.document, step, settings.steps)

    def _is_superseded(self) -> bool:
        """Whether a later attempt took the run from this very Job, with worker 0 as the chief.

        That attempt's progress.json names other Jobs.
        """
        try:
            owner = read_owner(self._config.settings.run_dir)
        except (OSError, OwnerUnreadableError):
            return False
        return taken_by(owner, self._config.task.job_uid) is not None
