"""Supervises the tasks of a local run, as the Job controller does in a cluster.

It restarts whole tasks. The trainer handles what fails inside a task.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tf_cluster.local.display import Display
from tf_cluster.local.plan import Limits
from tf_cluster.local.ports import is_free
from tf_cluster.local.process import TaskProcess
from tf_cluster.local.restart_policy import (
    CONFIG,
    Action,
    action_after,
    how_it_ended,
    restart_delay,
)
from tf_cluster.local.signals import StopRequest
from tf_cluster.local.task import chief_name
from tf_cluster.progress.document import Progress, fetch_progress

TICK = 0.1
POLL_EVERY = 0.5
CHIEF_ANSWERS_WITHIN = 2.0
PORT_PATIENCE = 30.0
EVALUATION_PATIENCE = 3600.0
"""Seconds that the evaluator has for each checkpoint after the training."""


@dataclass(frozen=True)
class Ending:
    """How a run ended. `culprit` is the task that ended it, if any.

    `evaluator` is set if it did not finish; `evaluator_words` then say how it ended.
    """

    kind: Literal["done", "stopped", "failed"]
    words: str
    progress: Progress | None
    culprit: TaskProcess | None = None
    evaluator: TaskProcess | None = None
    evaluator_words: str = ""

    @property
    def exit_code(self) -> int | None:
        """The culprit's exit code."""
        return self.culprit.exit_code if self.culprit else None


class LocalRun:
    """The processes of one attempt; the chief is worker 0 where the combination has none.

    `supervise` returns when the chief has ended, and after a success the evaluator too. Always call
    `end_all` then.
    """

    def __init__(
        self,
        processes: Sequence[TaskProcess],
        *,
        attempt: str,
        limits: Limits,
        display: Display,
        stop: StopRequest,
    ) -> None:
        self._processes = list(processes)
        chief = chief_name([process.task for process in self._processes])
        self._chief = next(p for p in self._processes if p.task.name == chief)
        self._evaluator = next((p for p in self._processes if p.task.type == "evaluator"), None)
        self._evaluator_words = ""
        self._attempt = attempt
        self._limits = limits
        self._display = display
        self._stop = stop
        self._progress: Progress | None = None
        self._next_poll = 0.0

    def supervise(self) -> Ending:
        """Start every task and supervise them until the run is done, stopped or failed."""
        for process in self._processes:
            process.start()
        self._display.show(Progress("starting"))
        while not self._stop.asked:
            ending = self._look_at_processes()
            if ending:
                return self._with_evaluator(ending)
            self._look_at_progress()
            self._stop.wait(TICK)
        return self._stop_chief()

    def end_all(self) -> None:
        """End what still runs, so that no process is left.

        After a success the workers may finish first; then all are asked to end, then killed."""
        self._end(self._processes)

    def _end(self, processes: Sequence[TaskProcess]) -> None:
        if self._chief.exit_code == 0:
            workers = [p for p in processes if p.task.type == "worker"]
            self._wait_for(workers, self._limits.workers_seconds, unless_asked=True)
        for process in processes:
            process.due = None
            process.ask_to_end()
        self._wait_for(processes, self._limits.others_seconds)
        for process in processes:
            process.kill()

    def _with_evaluator(self, ending: Ending) -> Ending:
        """After a success, wait for the evaluator and add how it ended."""
        evaluator = self._evaluator
        if ending.kind != "done" or evaluator is None:
            return ending
        self._end([process for process in self._processes if process is not evaluator])
        words = self._wait_for_evaluator(evaluator)
        if not words:
            return ending
        return replace(ending, evaluator=evaluator, evaluator_words=words)

    def _wait_for_evaluator(self, evaluator: TaskProcess) -> str:
        """Wait for its end, restarting it as before. Why it did not finish; empty if it did."""
        said, step = "", None
        deadline = time.monotonic() + EVALUATION_PATIENCE
        next_poll = 0.0
        while evaluator.alive or evaluator.due is not None:
            if self._stop.asked:
                return "was stopped"
            self._look_at_processes()  # only the evaluator is left
            if time.monotonic() >= next_poll:
                next_poll = time.monotonic() + POLL_EVERY
                seen = fetch_progress(evaluator.task.status_port, self._attempt)
                doing = seen.message if seen else said or "starting"
                if doing != said:
                    said = doing
                    name = evaluator.task.name
                    self._display.say(f"training is done; waiting for {name}: {said}")
                if seen and seen.step != step:
                    step, deadline = seen.step, time.monotonic() + EVALUATION_PATIENCE
            if time.monotonic() >= deadline:
                return f"did not end within {EVALUATION_PATIENCE:g} s"
            self._stop.wait(TICK)
        return self._evaluator_words

    def _look_at_processes(self) -> Ending | None:
        ended = [p for p in self._processes if p.alive and p.poll() is not None]
        # The chief first: a program that can't run fails in every task.
        for process in sorted(ended, key=lambda p: p is not self._chief):
            ending = self._after(process)
            if ending:
                return ending
        for process in self._processes:
            if process.due is not None and time.monotonic() >= process.due:
                ending = self._start_again(process)
                if ending:
                    return ending
        return None

    def _after(self, process: TaskProcess) -> Ending | None:
        task, code = process.task, process.exit_code
        assert code is not None
        limit = self._limits.restarts[task.type]
        action = action_after(task, code, process.restarts, limit, is_chief=process is self._chief)
        if action is Action.FINISHED:
            self._look_at_progress(now=True)
            return Ending("done", "done", self._progress, process)
        if action is Action.STOPPED:
            return Ending("stopped", f"{task.name} was asked to stop", self._progress, process)
        if action is Action.FAILED and process is self._evaluator:
            self._go_on_without_evaluator(process, how_it_ended(code))
            return None
        if action is Action.FAILED:
            return self._failed(process, code)
        if action is Action.LEAVE:
            return None
        words = f"{task.name} {how_it_ended(code)}; it is started again"
        if action is Action.RESTART:
            process.restarts += 1
            words += f" ({process.restarts} of at most {limit})"
        self._display.say(words)
        process.due = time.monotonic() + restart_delay(max(process.restarts - 1, 0))
        return None

    def _go_on_without_evaluator(self, process: TaskProcess, words: str) -> None:
        """A lost evaluator does not stop the training; the result mentions it."""
        process.due = None
        self._evaluator_words = words
        self._display.say(f"{process.task.name} {words}; training is not affected")

    def _failed(self, process: TaskProcess, code: int) -> Ending:
        """The run has failed. Unless the log says why (exit code 2), wait for the chief's word."""
        if code != CONFIG and process is not self._chief and self._chief.alive:
            self._wait_for([self._chief], CHIEF_ANSWERS_WITHIN)
            if self._chief.exit_code == CONFIG:
                process, code = self._chief, CONFIG
        words = f"{process.task.name} {how_it_ended(code)}"
        return Ending("failed", words, self._progress, process)

    def _start_again(self, process: TaskProcess) -> Ending | None:
        taken = [port for port in process.task.ports if not is_free(port)]
        if not taken:
            process.start()
        elif process.due is not None and time.monotonic() > process.due + PORT_PATIENCE:
            words = f"can't be started again: port {taken[0]} is taken"
            if process is self._evaluator:
                self._go_on_without_evaluator(process, words)
                return None
            return Ending("failed", f"{process.task.name} {words}", self._progress, process)
        return None

    def _look_at_progress(self, *, now: bool = False) -> None:
        if not now and time.monotonic() < self._next_poll:
            return
        seen = fetch_progress(self._chief.task.status_port, self._attempt)
        self._next_poll = time.monotonic() + POLL_EVERY
        if seen is not None:
            self._progress = seen
            self._display.show(seen)

    def _stop_chief(self) -> Ending:
        """Send SIGTERM to the chief first: it saves while the others still serve."""
        chief = "the chief" if self._chief.task.type == "chief" else self._chief.task.name
        self._display.say(f"stopping: {chief} saves first (again: end at once)")
        self._chief.ask_to_end()
        deadline = time.monotonic() + self._limits.chief_seconds
        while self._chief.poll() is None and time.monotonic() < deadline and not self._stop.hard:
            self._look_at_progress()
            self._stop.wait(TICK)
        if self._chief.exit_code == 0:
            return self._with_evaluator(Ending("done", "done", self._progress, self._chief))
        saved = self._chief.exit_code == 42
        words = "saved" if saved else f"{chief} did not say that it saved"
        return Ending("stopped", words, self._progress, self._chief)

    def _wait_for(
        self, processes: Sequence[TaskProcess], seconds: float, *, unless_asked: bool = False
    ) -> None:
        deadline = time.monotonic() + seconds
        while [p for p in processes if p.alive and p.poll() is None]:
            if time.monotonic() > deadline or self._stop.hard:
                return
            if unless_asked and self._stop.asked:
                return
            self._look_at_progress()
            time.sleep(TICK)
