"""Flushes what was written from this node to the disk, or to the volume's server."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Flush a file, or a directory's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
