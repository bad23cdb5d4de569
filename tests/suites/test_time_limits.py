"""A case that hangs fails at its limit, says where it was, and leaves the others their turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.kubernetes import CommandError, command
from tests.suites.suite import ROOT

WAITS = "def test_hangs(): threading.Event().wait()"
# It never leaves C, so no signal's handler runs.
HANGS_IN_C = "def test_hangs(): collections.deque(itertools.repeat(0), maxlen=0)"
CLEANS_UP_FOR_EVER = """
@pytest.fixture
def stuck():
    yield
    threading.Event().wait()

def test_hangs(stuck): threading.Event().wait()
"""


def run(tmp_path: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    imports = "import collections, itertools, threading, pytest\n"
    (tmp_path / "test_it.py").write_text(f"{imports}{body}\n\ndef test_is_next(): pass\n")
    settings = (
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    )
    return subprocess.run(
        (sys.executable, "-m", "pytest", *settings, *options, str(tmp_path)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_every_case_has_a_limit(pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) <= 600


def test_a_case_that_waits_for_ever_fails_with_its_stack_and_the_next_one_runs(
    tmp_path: Path,
) -> None:
    ran = run(tmp_path, WAITS, "--timeout=4")

    assert "Timeout (>4.0s)" in ran.stdout
    assert "threading.Event().wait()" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.parametrize("body", [HANGS_IN_C, CLEANS_UP_FOR_EVER], ids=["in C", "cleaning up"])
def test_a_case_that_can_not_be_failed_is_ended_with_its_process_and_its_stack(
    tmp_path: Path, body: str
) -> None:
    ran = run(tmp_path, body, "--timeout=4")  # and two seconds to show the failure

    assert ran.returncode == 1
    assert "Timeout (0:00:0" in ran.stderr
    assert "test_it.py" in ran.stderr


def test_beside_others_only_the_worker_of_such_a_case_is_ended(tmp_path: Path) -> None:
    ran = run(tmp_path, HANGS_IN_C, "--timeout=4", "--numprocesses=1")

    assert "crashed while running" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout


def test_a_command_that_hangs_is_ended_and_what_it_printed_is_told() -> None:
    with pytest.raises(CommandError, match=r"no end after 0\.5 s\nthe server is"):
        command("bash", "-c", "echo the server is; exec sleep 60", seconds=0.5)


def test_a_case_of_the_cluster_has_a_limit_of_its_own_unless_it_says_another(
    tmp_path: Path,
) -> None:
    body = """
@pytest.mark.cluster
def test_long(request): assert request.node.get_closest_marker("timeout").args[0] > 600

@pytest.mark.cluster
@pytest.mark.timeout(7)
def test_own(request): assert request.node.get_closest_marker("timeout").args == (7,)
"""
    assert "3 passed" in run(tmp_path, body).stdout
