"""How much memory this process' container may have, and how much the process takes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

# cgroup v1 has no word for "none": it gives a number of about 2^63.
_NONE = 1 << 60


def limit(root: Path = Path("/")) -> int | None:
    """Bytes that the container may have; None where nothing says so. `root` has /proc and /sys."""
    found = [size for file in _files(root) if (size := _size(file)) is not None]
    return min(found, default=None)


def taken(root: Path = Path("/")) -> int:
    """Bytes that this process can't give back: without pages of files. 0 where it is not known."""
    gc.collect()  # models of Keras are in cycles
    try:
        lines = (root / "proc/self/status").read_text(encoding="ascii").splitlines()
        return sum(
            int(line.split()[1]) << 10
            for line in lines
            if line.startswith(("RssAnon:", "RssShmem:"))
        )
    except (OSError, ValueError, IndexError):
        return 0


def _files(root: Path) -> Iterator[Path]:
    """Those that may say it, of the process' own group and of all above."""
    mounted = root / "sys/fs/cgroup"
    yield mounted / "memory.max"
    yield mounted / "memory/memory.limit_in_bytes"
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, own = line.split(":", 2)
        for group in (Path(own), *Path(own).parents):
            if not kinds:
                yield mounted / group.relative_to("/") / "memory.max"
            elif "memory" in kinds.split(","):
                yield mounted / "memory" / group.relative_to("/") / "memory.limit_in_bytes"


def _size(file: Path) -> int | None:
    try:
        size = int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):  # the word is "max"
        return None
    return size if size < _NONE else None
