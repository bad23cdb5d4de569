"""What the system knows of processes: who started whom, since when, how much memory."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """A process and all that it and its descendants started, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += sorted(children.get(pid, ()))
    return found


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """A signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def environment(pid: int) -> dict[str, str]:
    """What a process was started with; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.split("\0") if line)
    return {name: value for name, _, value in pairs}


def started_at(pid: int) -> float:
    """When it was started, in seconds since the epoch."""
    up = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up + int(_stat(pid)[19]) / _TICKS


def cpu_seconds(pid: int) -> float:
    """What it has used of the CPU so far."""
    return sum(map(int, _stat(pid)[11:13])) / _TICKS


def resident(pid: int, field: str = "VmRSS") -> int:
    """Bytes it has in memory, shared pages too; `VmHWM`: the most it ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has no memory: it has ended")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, …"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
