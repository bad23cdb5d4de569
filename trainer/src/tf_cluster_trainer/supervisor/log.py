"""The supervisor's log: plain lines with time and task name."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True)
class Log:
    """The log of one task's supervisor."""

    task: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def write(self, message: str) -> None:
        """Write each line of the message with the time (UTC) and the task before it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        lines = message.splitlines() or [""]
        self.stream.write("".join(f"{moment} {self.task}: {line}\n" for line in lines))
        self.stream.flush()
