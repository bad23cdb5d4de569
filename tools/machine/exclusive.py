"""One `up`, `down` or `image` at a time."""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .layout import Layout


@contextmanager
def exclusively(layout: Layout, what: str = "") -> Iterator[None]:
    """Hold the lock of that name; the kernel lets go of it if this process dies."""
    layout.cache.mkdir(parents=True, exist_ok=True)
    name = what or layout.name
    with (layout.cache / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another command that works on {name}", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
