"""The supervisor's own words: plain lines with time and task name."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True)
class Log:
    """Where one task's supervisor says what it does."""

    task: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def write(self, message: str) -> None:
        """Write each line of the message with the time (UTC) and the task before it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        lines = message.splitlines() or [""]
        self.stream.write("".join(f"{moment} {self.task}: {line}\n" for line in lines))
        self.stream.flush()
