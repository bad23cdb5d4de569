"""The child's log: one plain sentence a line, on standard error.

A supervisor that writes JSON asks its child for records instead (RECORDS_VARIABLE): a line is then
MARK and a JSON object with `severity` and `message`, so that a message of several lines stays one
and its severity is not guessed. Anything else that a child prints is a line of text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

INFO, WARNING, ERROR, CRITICAL = "INFO", "WARNING", "ERROR", "CRITICAL"
SEVERITIES = ("DEBUG", INFO, WARNING, ERROR, CRITICAL)
# From a supervisor to its own child, with any value.
RECORDS_VARIABLE = "TF_CLUSTER_LOG_RECORDS"
MARK = "\x1e"  # "record separator", which RFC 7464 puts before a JSON text
# Bytes of a message as JSON. The runtimes of containers cut a line after 16 KiB, and half a record
# is none.
LONGEST = 10_000
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029]")  # json escapes the control characters below 0x20
_SLICE = LONGEST // 6  # characters: one takes six bytes at most, as \u0000 does


@dataclass(frozen=True)
class Line:
    """A message of a child. `partial`: the next one goes on with it."""

    message: str
    severity: str | None = None
    partial: bool = False


def log(sentence: str, severity: str = INFO) -> None:
    """Print one sentence and flush it."""
    if RECORDS_VARIABLE not in os.environ:
        print(sentence, file=sys.stderr, flush=True)
        return
    for line in pieces(Line(sentence, severity)):
        said = {"severity": severity, "message": line.message, "partial": line.partial}
        sys.stderr.write(f"{MARK}{as_json(said)}\n")
    sys.stderr.flush()


def marked(text: str) -> Line | None:
    """The record after a MARK; None where it is none of `log`."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("message"), str):
        return None
    severity = said.get("severity")
    known = severity if severity in SEVERITIES else None
    return Line(said["message"], known, said.get("partial") is True)


def pieces(line: Line) -> Iterator[Line]:
    """The line, or what it is cut into where it is longer than LONGEST."""
    message = line.message
    if len(as_json(message).encode("utf-8", "replace")) <= LONGEST:
        yield line
        return
    for start in range(0, len(message), _SLICE):
        more = start + _SLICE < len(message) or line.partial
        yield Line(message[start : start + _SLICE], line.severity, more)


def as_json(value: Mapping[str, Any] | str) -> str:
    """JSON on one line, whatever a reader takes for the end of a line. It holds no NaN."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
