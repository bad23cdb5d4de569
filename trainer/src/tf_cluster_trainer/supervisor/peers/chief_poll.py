"""Polls the chief (the task `chief`, or worker 0) from a thread."""

from __future__ import annotations

import threading
import time
from urllib.parse import urlencode

from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, ask
from tf_cluster_trainer.supervisor.rules.events import ChiefSeen
from tf_cluster_trainer.supervisor.status.document import RUNNING
from tf_cluster_trainer.supervisor.status.progress_file import read_progress
from tf_cluster_trainer.supervisor.timing import Timing

# Characters of a reason; it is in a request line, which may have 64 KiB.
_LONGEST = 4000
# Polls per second of all tasks together: an answer takes the chief about a millisecond.
_ASKED = 100.0
_SLOWEST = 5.0  # seconds; however many tasks there are
# While the chief trains it tells what is new, and polls are for those who missed it. A thousand
# tasks then take three per cent of a core; all come within the default finalStateSeconds.
_MANY, _CALMLY_ASKED, _SLOWEST_CALM = 100, 36.0, 25.0
_TELL_AGAIN_SECONDS = 1.0


def periods(config: Config, timing: Timing) -> tuple[float, float]:
    """Seconds between two polls of a task: by default, and while the chief trains its attempt."""
    task = config.task
    waited_for = task.type == "ps" or config.trains
    tasks = sum(config.cluster.size(name) for name in config.cluster.cluster)
    period = max(
        timing.quick_poll if waited_for else timing.worker_poll, min(tasks / _ASKED, _SLOWEST)
    )
    # The chief waits for tasks that restart with it, and they learn of that by this poll. It
    # also tells all tasks but evaluators when training begins and ends.
    bound = config.settings.epoch_bound == task.type
    needs_every_change = config.trains or bound or config.evaluates
    calm = period if needs_every_change else max(period, timing.calm_poll)
    # A chief that ends waits for an evaluator only if that has asked lately.
    many = 0 if config.evaluates else tasks - _MANY
    return period, max(calm, min(many / _CALMLY_ASKED, _SLOWEST_CALM))


class NoPoll:
    """Of a task that an interactive client drives: it has no chief to ask, the client comes."""

    def file(self) -> ChiefSeen:
        """Nobody keeps a progress.json."""
        return ChiefSeen(None)

    def begin(self) -> None:
        """There is nobody to ask."""

    def now(self) -> None:
        """There is nobody to ask."""

    def tell_failure(self, message: str) -> None:
        """There is nobody to tell: the log has it."""

    def stop(self) -> None:
        """There is nobody to ask."""


class ChiefPoll:
    """Polls the chief's status port; without an answer a task other than a ps reads progress.json.

    It does not look up the chief's name before `begin`; peers/ask.py says what that would cost.
    """

    def __init__(self, config: Config, inbox: Inbox, timing: Timing) -> None:
        task = config.task
        self._config = config
        self._attempt = config.cluster.attempt
        self._inbox = inbox
        self._period, self._calm = periods(config, timing)
        self._address = config.cluster.status[config.chief_type][0]
        names = {"task": task.name, "job": task.job_uid}
        self._path = f"/progress?{urlencode(names)}"
        self._begun = False
        self._stopped = False
        self._due = threading.Event()

    def file(self) -> ChiefSeen:
        """The document in progress.json; a ps has no log directory."""
        if self._config.task.type == "ps":
            return ChiefSeen(None)
        return ChiefSeen(read_progress(self._config.settings.run_dir), from_file=True)

    def begin(self) -> None:
        """Begin to poll."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._run, daemon=True).start()

    def now(self) -> None:
        """Poll at once: the chief has news."""
        self._due.set()

    def tell_failure(self, message: str) -> None:
        """Tell the chief why this task ends, if it answers at once or a second later.

        Otherwise a chief in a cluster would only get a SIGTERM, when the workers' Job fails.
        """
        query = urlencode({"attempt": self._config.cluster.attempt, "failure": message[:_LONGEST]})
        for pause in (_TELL_AGAIN_SECONDS, 0.0):
            try:
                ask(self._address, f"{self._path}&{query}")
            except NoAnswerError:
                time.sleep(pause)
            else:
                return

    def stop(self) -> None:
        """Stop polling."""
        self._stopped = True
        self._due.set()

    def _run(self) -> None:
        while not self._stopped:
            self._due.clear()
            seen = self._look()
            self._inbox.put(seen)
            self._due.wait(self._until_the_next(seen))

    def _until_the_next(self, seen: ChiefSeen) -> float:
        chief = {} if seen.from_file else seen.document or {}
        calm = chief.get("status") == RUNNING and chief.get("attempt") == self._attempt
        return self._calm if calm else self._period

    def _look(self) -> ChiefSeen:
        try:
            return ChiefSeen(ask(self._address, self._path))
        except NoAnswerError:
            return self.file()
