"""What the kernel says of processes."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process is there and not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
