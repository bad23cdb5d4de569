"""What the kernel says of processes, and what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process is there and not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def end(process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    """Ask a process to end, and kill it where it has not after so many seconds."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def numbers_of(program: str, *arguments: object) -> list[int]:
    """The numbers in the last line that a Python program printed."""
    done = subprocess.run(
        (sys.executable, "-c", program, *map(str, arguments)),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [int(word) for word in done.stdout.splitlines()[-1].split()]
