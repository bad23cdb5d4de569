"""Mounts below a folder: pods' volumes, root file systems, network namespaces."""

from __future__ import annotations

import re
import time
from pathlib import Path

from .commands import succeeds

_MOUNTINFO = Path("/proc/self/mountinfo")


def below(folder: Path, mountinfo: str) -> list[str]:
    """Mount points at or below the folder, the innermost and latest first."""
    points = [_unescaped(line.split()[4]) for line in mountinfo.splitlines()]
    prefix = f"{folder}/"
    return [point for point in reversed(points) if point == str(folder) or point.startswith(prefix)]


def current(folder: Path) -> list[str]:
    """The mounts there are now."""
    return below(folder, _MOUNTINFO.read_text())


def remove(folder: Path) -> None:
    """Unmount all of them; what is busy is detached after a few tries."""
    for attempt in range(5):
        points = current(folder)
        if not points:
            return
        for point in points:
            lazily = ["--lazy"] if attempt >= 3 else []
            succeeds(["umount", *lazily, point])
        if attempt:
            time.sleep(0.2)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)
