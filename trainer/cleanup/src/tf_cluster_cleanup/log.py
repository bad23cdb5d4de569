"""Cleanup's log, on stdout: lines for people, or a JSON record a line (docs/formats.md, "The log").

TF_CLUSTER_LOG_FORMAT says which.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from types import TracebackType

Log = Callable[..., None]

FORMAT_VARIABLE = "TF_CLUSTER_LOG_FORMAT"
WHOSE = {"release": "TF_CLUSTER_RELEASE", "run": "TF_CLUSTER_RUN", "attempt": "TF_CLUSTER_ATTEMPT"}
# A runtime cuts a line after 16 KiB, and a character takes six bytes of JSON, or twelve.
LONGEST = 1200


class FormatError(Exception):
    """TF_CLUSTER_LOG_FORMAT is neither text nor json."""


def log_of(environment: Mapping[str, str]) -> Log:
    """The log that the environment asks for: `log(message, severity)`. Raises FormatError."""
    wanted = environment.get(FORMAT_VARIABLE, "text")
    if wanted == "text":
        return text
    if wanted != "json":
        raise FormatError(f"{FORMAT_VARIABLE} is {wanted!r}, not text or json")
    whose = {name: environment[key] for name, key in WHOSE.items() if key in environment}
    return _records({**whose, "task": "cleanup", "role": "cleanup"})


def text(message: str, severity: str = "INFO") -> None:
    """Print a line with the time (UTC)."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"{now} cleanup: {message}", flush=True)


def _records(whose: Mapping[str, str]) -> Log:
    def log(message: str, severity: str = "INFO") -> None:
        for start in range(0, len(message) or 1, LONGEST):
            now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            said: dict[str, object] = {"time": now.replace("+00:00", "Z"), "severity": severity}
            said["message"] = message[start : start + LONGEST]
            said.update(whose)
            if start + LONGEST < len(message):
                said["partial"] = True
            print(json.dumps(said), flush=True)

    def write_error(
        kind: type[BaseException], error: BaseException, at: TracebackType | None
    ) -> None:
        log("".join(traceback.format_exception(kind, error, at)).rstrip(), "CRITICAL")

    sys.excepthook = write_error
    return log
