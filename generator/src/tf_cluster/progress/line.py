"""Reads the lines of a log that say where a training stands (docs/formats.md, "The log").

Progress is text or a JSON record; a client that waits for other tasks says so in words.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.progress.document import Progress

_STATUSES = "starting|waiting|running|saving|done|failed|superseded|stopped"
# Names and times may stand before it, as `tf-cluster run` and a supervisor write them.
_LINE = re.compile(
    rf"(?:^|[\s:])(?P<status>{_STATUSES})\b(?P<message>.*?)\s\(?"
    r"(?P<percent>\d+\.\d)%, step (?P<step>\d+) of (?P<total>\d+)"
    r"(?:, (?P<rate>\d[\d.]*(?:e-?\d+)?) steps/s)?"
    r"(?:, ETA (?P<eta>\d+(?::\d\d){1,2}))?"
    r"(?:, loss (?P<loss>-?\d[\d.]*(?:e[-+]\d+)?))?"
    r"(?:, workers (?P<workers>\d+(?: \d+)*))?"
    r"\)?\s*$"
)


_GATE = re.compile(
    r"waiting for \d+ of \d+ tasks, (?P<seconds>\d+) s of \d+ s: "
    r"(?P<reasons>.*?)(?:\. Look at: .*)?$"
)
_TASK = re.compile(r"\b((?:chief|worker|ps|evaluator)-\d+) \(")


ALL_THERE = "every task is there"
"""How a client that waited says that it waits no longer."""


@dataclass(frozen=True)
class Wait:
    """For which tasks a client has waited, for so many seconds, and why, in its own words.

    `line` is the line of its log.
    """

    tasks: tuple[str, ...]
    seconds: int
    reasons: str
    line: str = field(default="", compare=False)

    def reason(self, task: str) -> str:
        """Why a task is waited for; empty where that is not said."""
        for group in self.reasons.split("; "):
            if f"{task} (" in group:
                return group.rpartition("): ")[2]
        return ""


def newest_wait(lines: Sequence[str]) -> Wait | None:
    """What a client that waits for tasks said last; None if they came, or it never waited."""
    for line in reversed(lines):
        words = _words(line)
        if found := _GATE.search(words):
            tasks = tuple(_TASK.findall(found["reasons"]))
            return Wait(tasks, int(found["seconds"]), found["reasons"], line)
        said = read_line(line)
        if ALL_THERE in words or (said and said.status != "waiting"):
            return None
    return None


def _words(line: str) -> str:
    """What a line of a log says, also where it is a JSON record."""
    record = _record(line)
    return line if record is None else str(record.get("message", ""))


def read_line(line: str) -> Progress | None:
    """Where the training stands, by this line; None if it is no line of progress.

    The figures of text are rounded, as people read them; those of a record are whole.
    """
    record = _record(line)
    return _of_text(line) if record is None else _of_record(record)


def newest(lines: Iterable[str]) -> Progress | None:
    """The last that any of these lines says; None if none does."""
    last = None
    for line in lines:
        last = read_line(line) or last
    return last


def _of_text(line: str) -> Progress | None:
    found = _LINE.search(line)
    if found is None:
        return None
    status, message = found["status"], found["message"]
    steps = (found["workers"] or "").split()
    return Progress(
        status=status,
        message=f"{status}{message}" if message else "",
        step=int(found["step"]),
        total=int(found["total"]),
        percent=float(found["percent"]),
        steps_per_second=_number(found["rate"]),
        eta_seconds=_seconds(found["eta"]),
        loss=_number(found["loss"]),
        workers={str(index): int(made) for index, made in enumerate(steps)},
    )


def _record(line: str) -> Mapping[str, Any] | None:
    """The record of a line; None for text."""
    start = line.find("{")
    if start < 0 or '"message"' not in line:
        return None
    try:
        record: Any = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _of_record(record: Mapping[str, Any]) -> Progress | None:
    if record.get("event") != "progress":
        return None
    words = str(record.get("message", ""))
    return Progress(
        status=words.partition(" ")[0],
        step=record.get("step"),
        total=record.get("total"),
        percent=record.get("percent"),
        steps_per_second=record.get("stepsPerSecond"),
        eta_seconds=record.get("etaSeconds"),
        loss=record.get("loss"),
        workers=record.get("workers") or {},
    )


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _seconds(text: str | None) -> float | None:
    """`0:07`, `12:30`, `1:02:03`."""
    if text is None:
        return None
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return float(seconds)
