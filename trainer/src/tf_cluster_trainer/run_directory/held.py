"""Hard links of a checkpoint's files that a task uses: another pod may remove the checkpoint."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tf_cluster_trainer.run_directory import layout


@contextmanager
def holding(run_dir: Path, who: str) -> Iterator[Path]:
    """A directory for this start's links, which are removed at the end; it is not made here."""
    held = run_dir / layout.HELD / f"{who}-{uuid.uuid4().hex[:8]}"
    try:
        yield held
    finally:
        shutil.rmtree(held, ignore_errors=True)
        with suppress(OSError):
            held.parent.rmdir()  # if no other task has any


def release_earlier(held: Path) -> None:
    """Remove the links of this task's earlier starts."""
    who = held.name.rpartition("-")[0]
    for other in held.parent.glob(f"{who}-*"):
        if other != held:
            shutil.rmtree(other, ignore_errors=True)
