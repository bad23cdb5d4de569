"""One `up` or `down` at a time."""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .layout import Layout


@contextmanager
def exclusively(layout: Layout) -> Iterator[None]:
    """Hold the machine's lock; the kernel lets go of it if this process dies."""
    layout.cache.mkdir(parents=True, exist_ok=True)
    with (layout.cache / "machine.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another command that changes the test cluster", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
