"""Reads the line of progress in a log, as text or as a JSON record (docs/formats.md, "The log")."""

import json
import re
from collections.abc import Iterable
from typing import Any

from tf_cluster.progress.document import Progress

_STATUSES = "starting|waiting|running|saving|done|failed|superseded|stopped"
# Names and times may stand before it, as `tf-cluster run` and a supervisor write them.
_LINE = re.compile(
    rf"(?:^|[\s:])(?P<status>{_STATUSES})\b(?P<message>.*?)\s\(?"
    r"(?P<percent>\d+\.\d)%, step (?P<step>\d+) of (?P<total>\d+)"
    r"(?:, (?P<rate>\d+) steps/s)?"
    r"(?:, ETA (?P<eta>\d+(?::\d\d){1,2}))?"
    r"(?:, loss (?P<loss>-?\d[\d.]*(?:e[-+]\d+)?))?"
    r"(?:, workers (?P<workers>\d+(?: \d+)*))?"
    r"\)?\s*$"
)


def read_line(line: str) -> Progress | None:
    """Where the training stands, by this line; None if it is no line of progress.

    The figures of text are rounded, as people read them; those of a record are whole.
    """
    start = line.find("{")
    if start >= 0 and '"event"' in line:
        return _of_record(line[start:])
    return _of_text(line)


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


def _of_record(text: str) -> Progress | None:
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("event") != "progress":
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
