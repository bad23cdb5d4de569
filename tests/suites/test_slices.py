"""Which part of a long matrix a run takes: told, repeatable, and all of it in turn."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import slices

CASES = [f"case-{number}" for number in range(7)]


def turn(monkeypatch: pytest.MonkeyPatch, number: int, cases: int = 1) -> list[str]:
    monkeypatch.setenv("SLICE", str(number))
    marked = slices.sliced(CASES, cases)
    assert [case.id for case in marked] == CASES
    names = {case.id: [mark.name for mark in case.marks] for case in marked}
    assert all(marks in (["chosen"], ["full"]) for marks in names.values())
    return [name for name, marks in names.items() if marks == ["chosen"]]


def test_a_slice_that_is_told_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert turn(monkeypatch, 5) == turn(monkeypatch, 12) == ["case-5"]
    assert turn(monkeypatch, 6, cases=2) == ["case-0", "case-6"]
    assert "SLICE=6 repeats it" in slices.chosen()


def test_every_case_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [name for number in range(7) for name in turn(monkeypatch, number)]

    assert sorted(seen) == CASES


def test_of_each_case_one_column_is_asked_and_the_others_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    for number in (4, 5):
        monkeypatch.setenv("SLICE", str(number))
        marked = [(pair.values, pair.marks[0].name) for pair in slices.one_each("abc", "xy")]
        seen.append([pair for pair, mark in marked if mark == "chosen"])
        assert [pair for pair, _ in marked] == [(case, column) for case in "abc" for column in "xy"]
    assert seen == [[("a", "x"), ("b", "y"), ("c", "x")], [("a", "y"), ("b", "x"), ("c", "y")]]


def by_history(monkeypatch: pytest.MonkeyPatch, history: slices.History) -> str:
    monkeypatch.delenv("SLICE", raising=False)
    monkeypatch.setattr(slices, "history", lambda: history)
    return slices.chosen()


def test_without_a_number_the_commits_are_counted_and_their_number_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = by_history(monkeypatch, slices.History(commits=10))

    assert "by 10 commits" in told and "SLICE=10 repeats it" in told
    assert slices.sliced(CASES, 1)[10 % 7].marks[0].name == "chosen"


def test_where_git_does_not_answer_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = by_history(monkeypatch, slices.History())

    assert "no commits to count: git does not answer here" in told


def test_a_shallow_clone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = by_history(monkeypatch, slices.History(commits=1, shallow=True))

    assert "a shallow clone" in told and "SLICE=1 repeats it" in told


def repository(folder: Path, commits: int) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet")
    for number in range(commits):
        git(folder, "commit", "--quiet", "--allow-empty", f"--message={number}")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(("git", *who, *arguments), cwd=folder, check=True)


def test_the_history_of_a_clone_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = repository(tmp_path / "whole", 3)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{whole}", "shallow")
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    counted = {}
    for name in ("whole", "shallow", "none"):
        monkeypatch.setattr(slices, "ROOT", tmp_path / name)
        counted[name] = slices.history.__wrapped__()

    assert counted == {
        "whole": slices.History(3),
        "shallow": slices.History(1, shallow=True),
        "none": slices.History(),
    }


def test_without_git_there_is_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert slices.history.__wrapped__() == slices.History()
