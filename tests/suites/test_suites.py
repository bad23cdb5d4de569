"""Suites end in time and leave nothing, every case is in one, and CI lets no skip pass unseen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites import __main__ as suites
from tests.suites import suite
from tests.suites.commands import TIMED_OUT, run_command
from tests.suites.suite import ROOT, Suite
from tests.support.processes import alive
from tests.support.waiting import eventually

# Leaves a note when it is asked to end, and never ends what it has started.
STUBBORN = """
import subprocess, sys, time
from pathlib import Path
here = Path(sys.argv[1])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
try:
    (here / "started.new").write_text(str(child.pid))
    (here / "started.new").rename(here / "started")
    time.sleep(600)
except KeyboardInterrupt:
    (here / "cleaned-up").touch()
"""
RUNS_IT = """
import os, signal, sys
from pathlib import Path
from tests.suites.commands import leave, run_command
signal.signal(signal.SIGTERM, leave)
run_command(sys.argv[1:], Path(), os.environ, 600)
"""


def stubborn(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", STUBBORN, str(folder))


def child_of_the_stubborn(folder: Path) -> int:
    eventually("a child of the command", (folder / "started").exists)
    return int((folder / "started").read_text())


def test_a_suite_that_takes_too_long_is_ended_with_all_it_started_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    never = (sys.executable, "-c", f"open({str(tmp_path / 'never')!r}, 'w')")

    outcome = suite.run(Suite("slow", (stubborn(tmp_path), never), 5), os.environ)

    assert not outcome.ok and outcome.note == "ended after its 5 s"
    assert "ended after its 5 s" in capsys.readouterr().out
    assert (tmp_path / "cleaned-up").exists() and not (tmp_path / "never").exists()
    child = child_of_the_stubborn(tmp_path)
    eventually("the end of its child", lambda: not alive(child))


def test_a_command_that_ends_in_time_has_its_own_exit_code() -> None:
    fails = (sys.executable, "-c", "raise SystemExit(3)")

    assert run_command(fails, ROOT, os.environ, 60) == 3
    assert run_command(("sleep", "600"), ROOT, os.environ, 0.1) == TIMED_OUT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_told_to_end_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen((sys.executable, "-c", RUNS_IT, *stubborn(tmp_path)), cwd=ROOT) as run:
        child = child_of_the_stubborn(tmp_path)
        (command,) = children_of(run.pid)
        run.send_signal(number)
        run.wait(60)

    eventually("the end of the command", lambda: not alive(command))
    if number != signal.SIGKILL:  # nobody is left to end what its command leaves
        assert (tmp_path / "cleaned-up").exists()
        eventually("the end of its child", lambda: not alive(child))
    else:
        os.kill(child, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def test_the_suite_beside_the_others_is_ended_at_its_limit_and_what_it_said_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    aside = suites._Aside("lint", False, os.environ)
    log = tmp_path / "lint.log"
    eventually("its first words", lambda: "=== lint" in log.read_text())
    aside.show()
    assert "=== lint, beside" in capsys.readouterr().out

    monkeypatch.setattr(aside, "_seconds", 0.0)
    outcome = aside.outcome()

    assert not outcome.ok and outcome.note == "ended after its 0 s"
    assert log.read_text().strip() and aside._process.returncode == 128 + signal.SIGTERM


def test_every_case_is_in_a_suite() -> None:
    lister = (
        "import sys, pytest\n"
        "class Lister:\n"
        "    def pytest_collection_finish(self, session):\n"
        "        for item in session.items:\n"
        "            mark = item.get_closest_marker('cluster')\n"
        "            print('CASE', 'cluster' if mark else 'plain', item.nodeid)\n"
        "sys.exit(pytest.main(['--collect-only', '-qq', 'tests'], [Lister()]))\n"
    )
    listed = subprocess.run(
        (sys.executable, "-c", lister), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    cases = [line.split(maxsplit=2)[1:] for line in listed.splitlines() if line.startswith("CASE ")]
    plain = [folder for folders in suites.FOLDERS.values() for folder in folders]
    plain.append("tests/gpu")  # by hand, where there is a GPU
    folders = {"plain": plain, "cluster": suites.CLUSTER_FOLDERS}

    assert len(cases) > 2000
    assert [
        (kind, case)
        for kind, case in cases
        if sum(case.startswith(f"{folder}/") for folder in folders[kind]) != 1
    ] == []


@pytest.mark.parametrize("word", ["true", "1", "True", "yes", "github"])
def test_ci_is_known_however_it_says_so(word: str) -> None:
    assert suite.in_ci({"CI": word})


@pytest.mark.parametrize("word", [None, "", "0", "false", "FALSE", "no"])
def test_ci_is_not_taken_from_a_word_that_denies_it(word: str | None) -> None:
    assert not suite.in_ci({} if word is None else {"CI": word})


@pytest.mark.parametrize(
    ("reason", "in_ci", "ok"),
    [
        ("a program is not here", "1", False),
        ("a program is not here", "", True),
        ("KUBECONFIG names another cluster: nothing is started", "1", True),
    ],
)
def test_in_ci_a_skip_that_is_not_listed_is_a_failure(
    reason: str, in_ci: str, ok: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    case = tmp_path / "test_it.py"
    case.write_text(f"import pytest\ndef test_it(): pytest.skip({reason!r})\n")

    made = suite.pytest_suite("skips", str(case), seconds=60, full=False)
    outcome = suite.run(made, {**os.environ, "CI": in_ci})

    assert outcome.counts.skipped == 1
    assert outcome.ok is ok
