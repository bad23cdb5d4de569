"""Flushes what was written from this node to the disk, or to the volume's server."""

from __future__ import annotations

import os
from concurrent import futures
from pathlib import Path


def flush(path: Path) -> None:
    """Flush a file, or a directory's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FlushingBeside:
    """Flushes files in a thread of its own, while its user writes others.

    Who leaves it waits for what is under way. A file must keep its name until `settle` returns.
    """

    def __init__(self) -> None:
        self._thread = futures.ThreadPoolExecutor(1, thread_name_prefix="flush")
        self._begun: list[futures.Future[None]] = []

    def begin(self, path: Path) -> None:
        """Flush it, soon. Raises the OSError of an earlier file, if it is known by now."""
        for one in self._begun:
            if one.done():
                one.result()
        self._begun.append(self._thread.submit(flush, path))

    def settle(self) -> None:
        """Wait until all files are flushed. Raises the first OSError of theirs."""
        for one in self._begun:
            one.result()
        self._begun.clear()

    def __enter__(self) -> FlushingBeside:
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown(cancel_futures=True)
