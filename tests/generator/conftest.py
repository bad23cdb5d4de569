"""The world of the generator's tests: the command as people run it, files, and the real helm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.generator.helm_reader import HelmReader
from tests.generator.local.local_run import RunParams, runs_of_params
from tests.support.waiting import HANG_SECONDS

pytest.register_assert_rewrite("tests.generator.local.losing")

ROOT = Path(__file__).resolve().parents[2]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tf_cluster(tmp_path: Path) -> Command:
    """Run `tf-cluster` in an empty directory; every process starts cold."""

    def run(
        *arguments: str, stdin: str = "", timeout: float = HANG_SECONDS, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, "-m", "tf_cluster", *arguments),
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, **environment},
        )

    return run


@pytest.fixture
def run_params(tmp_path: Path) -> Iterator[RunParams]:
    """Start `tf-cluster run` on the text of a params file; what still runs at the end is killed."""
    with runs_of_params(tmp_path) as run:
        yield run


@pytest.fixture(scope="session")
def helm() -> str:
    """The pinned helm, built from its Go module once and kept in the user's cache."""
    found = subprocess.run(
        (sys.executable, "-m", "tools.machine", "tools", "helm"),
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return found.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="session")
def helm_reader(helm: str, tmp_path_factory: pytest.TempPathFactory) -> HelmReader:
    return HelmReader.make(helm, tmp_path_factory.mktemp("reader") / "chart")
