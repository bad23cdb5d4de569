"""What went wrong with the machine, in words that name the fix."""

from __future__ import annotations

from pathlib import Path


class MachineError(Exception):
    """The test machine can't do what was asked; the message is for a person."""


def log_tail(path: Path, lines: int = 25) -> str:
    """The last lines of a log, indented, for the message of a MachineError."""
    if not path.exists():
        return f"  (no log at {path})"
    tail = path.read_text(errors="replace").splitlines()[-lines:]
    return f"  last lines of {path}:\n" + "\n".join(f"    {line}" for line in tail)
