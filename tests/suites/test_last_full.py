"""The file that says which commit was the last to pass test-full."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.suites import __main__ as suites
from tests.suites.last_full import Tree, note, told
from tests.suites.suite import Counts, Outcome

COUNTS = Counts(passed=12, skipped=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ("git", *who, *arguments)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=one")


def test_a_commit_that_passed_is_noted_and_told_later(folder: Path) -> None:
    file, head = folder / "last-full", git(folder, "rev-parse", "HEAD").strip()
    assert "no commit is known" in told(file, folder)

    assert note(Tree.of(folder), COUNTS, 0, file, folder).endswith("passed' last-full")
    commit(folder)

    line = told(file, folder)
    assert f"{head[:12]} (" in line and "12 passed, 1 skipped); commits since: 1" in line


def test_a_commit_of_another_history_is_told_as_such(folder: Path) -> None:
    (folder / "last-full").write_text(f"{'a' * 40} 2026-01-02, 3 passed, 0 skipped\n")

    assert "aaaaaaaaaaaa (2026-01-02, " in told(folder / "last-full", folder)
    assert "it is not in the history" in told(folder / "last-full", folder)


def test_a_tree_that_is_not_its_commit_is_not_noted(folder: Path) -> None:
    tested = Tree.of(folder)
    (folder / "new").touch()
    file = folder / "last-full"

    assert "?? new" in note(Tree.of(folder), COUNTS, 0, file, folder)
    assert "changed meanwhile" in note(tested, COUNTS, 0, file, folder)
    assert "no commit here" in note(Tree("", ""), COUNTS, 0, file, folder)
    assert not file.exists()


def test_only_a_run_of_all_suites_that_all_passed_is_a_full_one() -> None:
    passed = [Outcome(name, True, 1.0, Counts(passed=1)) for name in suites.NAMES]
    lint_counts_none = [Outcome("lint", True, 1.0, Counts()), *passed[1:]]

    assert suites.is_whole(lint_counts_none)
    assert not suites.is_whole(passed[:-1])
    assert not suites.is_whole([*passed[:-1], Outcome("cluster", True, 0.0, Counts(), "no Go")])
    assert not suites.is_whole([*passed[:-1], Outcome("cluster", False, 1.0, Counts(passed=1))])
