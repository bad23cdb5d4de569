"""Which part of a long matrix a run takes: told, repeatable, and all of it in turn."""

from __future__ import annotations

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


def test_without_a_number_the_commit_chooses_and_its_number_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLICE", raising=False)
    monkeypatch.setattr(slices, "_commit", lambda: "0000000a")
    told = slices.chosen()

    assert "by commit 0000000a" in told and "SLICE=10 repeats it" in told
    assert slices.sliced(CASES, 1)[10 % 7].marks[0].name == "chosen"


def test_where_git_does_not_answer_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLICE", raising=False)
    monkeypatch.setattr(slices, "_commit", lambda: "")

    assert "no commit: git does not answer here" in slices.chosen()
