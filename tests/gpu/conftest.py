"""A GPU that shows when it computes, and how much of its memory is taken."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generator.local.local_run import RunParams, runs_of_params


class Gpu:
    """The first GPU of this machine, looked at again and again."""

    def __init__(self) -> None:
        self.busiest = 0  # percent of a time slice in which a kernel ran
        self.before = self.most_used = self.used()
        self.memory = self._ask("memory.total")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def used(self) -> int:
        """MiB of its memory that are taken."""
        return self._ask("memory.used")

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self.busiest = max(self.busiest, self._ask("utilization.gpu"))
            self.most_used = max(self.most_used, self.used())

    def _ask(self, what: str) -> int:
        asked = ("nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits", "--id=0")
        return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(autouse=True)
def needs_a_gpu() -> None:
    if not shutil.which("nvidia-smi"):
        pytest.skip("no nvidia-smi here, so no GPU")


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    """Looked at while the case runs."""
    one = Gpu()
    yield one
    one.end()


@pytest.fixture
def run_params(tmp_path: Path) -> Iterator[RunParams]:
    """Start `tf-cluster run` on the text of a params file; what still runs at the end is killed."""
    with runs_of_params(tmp_path) as run:
        yield run
