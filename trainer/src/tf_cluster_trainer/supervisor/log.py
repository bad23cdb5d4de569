"""The supervisor's log: plain lines with time and task name, or a JSON record a line.

TF_CLUSTER_LOG_FORMAT says which, because a configuration that can't be read is logged, too.
docs/formats.md has the fields of a record.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, TextIO

from tf_cluster_trainer.config import Config, ConfigError
from tf_cluster_trainer.log import CRITICAL, ERROR, INFO, Line, as_json, pieces
from tf_cluster_trainer.supervisor.status.document import FAILED, Document, Outcome
from tf_cluster_trainer.supervisor.status.progress_line import progress_line, progress_numbers

PROGRESS_SECONDS = 10.0
"""Between two lines of progress in a log for people; records come as often as there is news."""
FORMAT_VARIABLE = "TF_CLUSTER_LOG_FORMAT"
# What a pod knows before it has read its configuration: a field of a record, and its variable.
KNOWN_BEFORE = {
    "release": "TF_CLUSTER_RELEASE",
    "run": "TF_CLUSTER_RUN",
    "attempt": "TF_CLUSTER_ATTEMPT",
}


class Log(ABC):
    """The log of one task's supervisor. Any thread may write."""

    @property
    @abstractmethod
    def keeps_output(self) -> bool:
        """Whether what the child prints passes through `take`."""

    @abstractmethod
    def write(self, message: str, severity: str = INFO) -> None:
        """Write a message of one or more lines."""

    @abstractmethod
    def take(self, line: Line, stream: str) -> None:
        """Write what the child printed on `stdout` or `stderr`."""

    @abstractmethod
    def know(self, config: Config) -> None:
        """From now on the configuration says whose log this is."""

    @abstractmethod
    def at(self, step: int | None) -> None:
        """The run is at this step, as far as this task knows; None: it does not know."""

    @abstractmethod
    def progress(self, document: Document) -> None:
        """Write where the training stands."""

    @abstractmethod
    def catch_errors(self) -> None:
        """Write errors of our own that end a thread or the process, too."""


@dataclass
class TextLog(Log):
    """Lines for people. The child prints beside it, to the same place.

    How far a training is stands there every PROGRESS_SECONDS (`clock`, monotonic).
    """

    task: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    _told: float | None = None

    @property
    def keeps_output(self) -> bool:
        """The child's output is the supervisor's."""
        return False

    def write(self, message: str, severity: str = INFO) -> None:
        """Write each line of the message with the time (UTC) and the task before it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        lines = message.splitlines() or [""]
        self.stream.write("".join(f"{moment} {self.task}: {line}\n" for line in lines))
        self.stream.flush()

    def take(self, line: Line, stream: str) -> None:
        """Nothing is taken."""

    def know(self, config: Config) -> None:
        """A line has the task alone, which the environment says."""

    def at(self, step: int | None) -> None:
        """A line has no step."""

    def progress(self, document: Document) -> None:
        """Write a line, unless the last one is not old: people read it."""
        now = self.clock()
        if self._told is None or now - self._told >= PROGRESS_SECONDS:
            self._told = now
            self.write(progress_line(document))

    def catch_errors(self) -> None:
        """Python prints them."""


class JsonLog(Log):
    """Records for programs: one JSON object a line, all of this task, on one descriptor."""

    def __init__(self, kind: str, index: str, known: Mapping[str, str], descriptor: int) -> None:
        number = int(index) if index.isdecimal() else None
        self._whose = {**known, "task": f"{kind}-{index}", "role": kind, "index": number}
        self._step: int | None = None
        self._descriptor = descriptor
        self._writing = threading.Lock()

    @property
    def keeps_output(self) -> bool:
        """What the child prints becomes records, too."""
        return True

    def write(self, message: str, severity: str = INFO) -> None:
        """Write the message as one record."""
        self._record(Line(message, severity))

    def take(self, line: Line, stream: str) -> None:
        """Write what the child printed, with the stream."""
        self._record(line, stream=stream)

    def know(self, config: Config) -> None:
        """Name the run and the attempt as the configuration does."""
        task, settings = config.task, config.settings
        self._whose = {
            "release": settings.run_name,
            "run": settings.run_id,
            "attempt": config.cluster.attempt,
            "task": task.name,
            "role": task.type,
            "index": task.index,
        }

    def at(self, step: int | None) -> None:
        """The records from now on have this step; a chief that is gone leaves the last one."""
        self._step = self._step if step is None else step

    def progress(self, document: Document) -> None:
        """Write the numbers as fields, and in the message for people."""
        line = Line(progress_line(document), INFO)
        self._record(line, event="progress", **progress_numbers(document))

    def catch_errors(self) -> None:
        """Make a record of a traceback of this process, which Python would print."""

        def write(
            kind: type[BaseException], error: BaseException | None, at: TracebackType | None
        ) -> None:
            self.write("".join(traceback.format_exception(kind, error, at)).rstrip(), CRITICAL)

        sys.excepthook = write
        threading.excepthook = lambda said: write(said.exc_type, said.exc_value, said.exc_traceback)

    def _record(self, line: Line, **fields: Any) -> None:
        for piece in pieces(line):
            said: dict[str, Any] = {"time": _now()}
            if piece.severity:
                said["severity"] = piece.severity
            said["message"] = piece.message
            said.update(self._whose)
            if self._step is not None:
                said["step"] = self._step
            said.update(fields)
            if piece.partial:
                said["partial"] = True
            self._put(f"{as_json(said)}\n".encode("utf-8", "replace"))

    def _put(self, data: bytes) -> None:
        # Not through Python's buffers: a thread that holds one of those when Python ends is fatal.
        with self._writing:
            while data:
                data = data[os.write(self._descriptor, data) :]


def log_of(environment: Mapping[str, str]) -> Log:
    """The log that the environment asks for. Raises ConfigError for a format that is not known."""
    wanted = environment.get(FORMAT_VARIABLE, "text")
    if wanted == "text":
        return text_log_of(environment)
    if wanted != "json":
        raise ConfigError(f"{FORMAT_VARIABLE} is {wanted!r}, not text or json")
    known = {name: environment[key] for name, key in KNOWN_BEFORE.items() if key in environment}
    return JsonLog(*_task(environment), known, sys.stdout.fileno())


def text_log_of(environment: Mapping[str, str]) -> TextLog:
    """The log in text of the environment's task."""
    return TextLog("-".join(_task(environment)))


def _task(environment: Mapping[str, str]) -> tuple[str, str]:
    """Type and index of the task, as far as the environment knows."""
    kind = environment.get("TF_CLUSTER_TASK_TYPE", "task")
    index = environment.get("TF_CLUSTER_TASK_INDEX", environment.get("JOB_COMPLETION_INDEX", "0"))
    return kind, index


def severity_of(outcome: Outcome) -> str:
    """ERROR for a failure; to be stopped or superseded is none."""
    return ERROR if outcome.status == FAILED else INFO


def _now() -> str:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return now.replace("+00:00", "Z")
