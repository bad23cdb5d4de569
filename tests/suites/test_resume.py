"""A full run that was ended, or that failed, goes on: what has passed on its commit is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.suites import resume, suite
from tests.suites.again import read
from tests.suites.suite import Counts, Outcome

ALONE = """
import os, pathlib, pytest
HERE = pathlib.Path(__file__).parent

@pytest.fixture
def torn():
    yield
    assert (HERE / "well").exists()

@pytest.mark.parametrize("number", range(3))
def test_each(number):
    assert (HERE / "well").exists() or number != 1, "the second\\none fails"

def test_teardown(torn): pass

def test_skipped():
    pytest.skip("today")

def test_deadly():
    if (HERE / "deadly").exists():
        os._exit(9)
"""
STORY = """
import pathlib, pytest
pytestmark = pytest.mark.story
TOLD = []

def test_once(): TOLD.append("once")

def test_upon():
    assert TOLD == ["once"]
    assert (pathlib.Path(__file__).parent / "well").exists()
"""


class SuiteInTest:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passed = resume.folder_of("c" * 40, folder) / "it.passed"
        (folder / "test_alone.py").write_text(ALONE)
        (folder / "test_story.py").write_text(STORY)

    def run(self, *options: str) -> Outcome:
        words = (f"--rootdir={self.folder}", str(self.folder), "-o", "markers=story", *options)
        made = suite.pytest_suite("it", *words, seconds=120, full=True, passed=self.passed)
        # In CI a case that is skipped is a failure.
        return suite.run(made, {**os.environ, "CI": ""})


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteInTest:
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    return SuiteInTest(tmp_path)


@pytest.mark.parametrize("beside", [(), ("--numprocesses=2", "--dist=loadfile")])
def test_only_what_has_not_passed_is_run_again(it: SuiteInTest, beside: tuple[str, ...]) -> None:
    first = it.run(*beside)
    # pytest counts a case whose teardown fails as passed and as an error.
    assert (first.ok, first.counts.failed, first.counts.skipped) == (False, 3, 1)
    assert len(read(it.passed)) == 4  # two of each, the deadly one, the first of the story

    (it.folder / "well").touch()
    second = it.run(*beside)
    # A story is told as a whole.
    assert second.ok and second.counts == Counts(passed=4, skipped=1)
    assert len(set(read(it.passed))) == 7
    assert resume.failed_once(it.passed.parent) == 3

    third = it.run(*beside)
    assert third.ok and third.counts == Counts(skipped=1)


def test_nothing_left_to_do_is_well(it: SuiteInTest) -> None:
    (it.folder / "well").touch()
    only = "--deselect=test_alone.py::test_skipped"
    assert it.run(only).counts == Counts(passed=7)
    assert it.run(only).ok and it.run(only, "--numprocesses=2").ok


def test_a_run_that_dies_keeps_what_had_passed(it: SuiteInTest) -> None:
    (it.folder / "deadly").touch()
    (it.folder / "well").touch()
    assert not it.run().ok
    assert len(read(it.passed)) == 4
    (it.folder / "deadly").unlink()
    assert it.run().ok and resume.count(it.passed.parent) == 7


def test_another_commit_begins_anew(tmp_path: Path) -> None:
    first = resume.folder_of("a" * 40, tmp_path)
    (first / "it.passed").write_text("one\ntwo\n")
    assert resume.count(resume.folder_of("a" * 40, tmp_path)) == 2
    assert resume.count(resume.folder_of("b" * 40, tmp_path)) == 0
    assert not first.exists()
    resume.forget("b" * 40, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_summary_says_why_each_case_failed(it: SuiteInTest) -> None:
    each, torn, story = sorted(it.run().reasons)
    assert each.startswith("test_alone test_each[1]: AssertionError: the second one fails")
    assert torn.startswith("test_alone test_teardown: ")
    assert story.startswith("test_story test_upon: ")
    assert all(len(one) <= suite.REASON_LETTERS + 60 for one in (each, torn, story))
