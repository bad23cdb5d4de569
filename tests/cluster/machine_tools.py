"""The pinned programs that the test machine builds once into the user's cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tool_path(name: str) -> str:
    """Path of `helm`, `kubectl`, …; builds it when it is not there yet."""
    return subprocess.run(
        (sys.executable, "-m", "tools.machine", "tools", name),
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
