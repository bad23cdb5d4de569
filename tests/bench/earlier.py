"""The tool and the trainer as an earlier commit of this clone's history has them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.origin import ROOT

BEFORE_LARGE_MODELS = "fa480f68746c463ab22d6c5a1293d7dbb78de4af"
"""The last commit whose chief holds the whole state."""
_PARTS = ("charts", "generator", "trainer")


@contextmanager
def sources(commit: str) -> Iterator[Path]:
    """A folder with its sources, until the end. Raises RuntimeError if the clone lacks it."""
    command = ("git", "-C", str(ROOT), "archive", commit, *_PARTS)
    packed = subprocess.run(command, capture_output=True)
    if packed.returncode:
        raise RuntimeError(
            f"no commit {commit[:12]} here: a shallow clone has no history; fetch all of it "
            f"(git fetch --unshallow). git said: {packed.stderr.decode().strip()}"
        )
    with tempfile.TemporaryDirectory(prefix="tf-cluster-bench-") as folder:
        subprocess.run(("tar", "-x", "-C", folder), input=packed.stdout, check=True)
        yield Path(folder)


def python_path(sources: Path) -> str:
    """PYTHONPATH with which Python takes these instead of what is installed."""
    return ":".join(str(sources / part / "src") for part in _PARTS[1:])
