"""What failed in a suite's last run is in its next one, also when its turn is over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.suites import suite
from tests.suites.again import read
from tests.suites.suite import Counts, Outcome

CASES = """
import os, pathlib, pytest

@pytest.mark.full
@pytest.mark.parametrize("number", range(3))
def test_long(number):
    assert pathlib.Path(__file__).with_name("well").exists() or number != 1

def test_short():
    if pathlib.Path(__file__).with_name("deadly").exists():
        os._exit(9)

def test_last(): pass
"""
BESIDE = ("--numprocesses=2",)
FAILS = "test_it.py::test_long[1]"


class SuiteInTest:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_it.py").write_text(CASES)

    def run(self, *options: str, full: bool = False) -> Outcome:
        # Ids begin at rootdir. Pytest's own choice would depend on where this checkout lies.
        words = (str(self.folder / "test_it.py"), f"--rootdir={self.folder}", *options)
        return suite.run(suite.pytest_suite("it", *words, seconds=120, full=full), os.environ)

    @property
    def again(self) -> list[str]:
        return [one.rsplit("/", 1)[-1] for one in read(self.folder / "it.failed")]


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteInTest:
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    return SuiteInTest(tmp_path)


@pytest.mark.parametrize("beside", [(), BESIDE], ids=["alone", "beside"])
def test_a_long_case_that_failed_is_tried_until_it_passes(
    it: SuiteInTest, beside: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert it.run(*beside).counts == Counts(passed=2)
    assert it.run(*beside, full=True).counts == Counts(passed=4, failed=1)
    assert it.again == [FAILS]
    capsys.readouterr()

    still = it.run(*beside)
    assert still.counts == Counts(passed=2, failed=1)
    assert f"--- failed last time: 1\n    {still.again[0]}" in capsys.readouterr().out
    assert it.again == [FAILS]

    (it.folder / "well").touch()
    mended = it.run(*beside)
    assert mended.counts == Counts(passed=3)
    assert (mended.mended, mended.again, it.again) == (still.again, [], [])
    assert it.run(*beside).counts == Counts(passed=2)


def test_a_suite_of_which_no_case_has_its_turn_is_well_where_that_may_be(it: SuiteInTest) -> None:
    (it.folder / "test_it.py").write_text(CASES.partition("def test_short")[0])
    assert not it.run().ok
    assert it.run("--may-be-none").ok
    assert it.run("--may-be-none", full=True).counts == Counts(passed=2, failed=1)
    (it.folder / "test_it.py").write_text("")
    (it.folder / "it.failed").unlink()
    assert not it.run("--may-be-none").ok


def test_a_run_that_is_killed_leaves_what_it_has_not_tried_and_what_ran(it: SuiteInTest) -> None:
    it.run(full=True)
    (it.folder / "deadly").touch()
    (it.folder / "it.failed").write_text(f"{FAILS}\ntest_it.py::test_last\n")

    assert not it.run().ok

    assert it.again == ["test_it.py::test_last", FAILS, "test_it.py::test_short"]


def test_beside_others_too_the_case_that_ended_its_process_is_tried_again(it: SuiteInTest) -> None:
    (it.folder / "deadly").touch()
    (it.folder / "it.failed").write_text(f"{FAILS}\n")

    assert it.run(*BESIDE).counts == Counts(passed=1, failed=2)

    assert sorted(it.again) == [FAILS, "test_it.py::test_short"]


def test_a_case_that_is_no_more_is_forgotten(it: SuiteInTest) -> None:
    (it.folder / "it.failed").write_text("test_it.py::test_old\n")

    assert it.run().ok and it.again == []


def test_many_cases_are_not_all_shown() -> None:
    shown = suite.some([f"case {number}" for number in range(suite.SHOWN + 2)])

    assert len(shown.splitlines()) == suite.SHOWN + 2 and shown.endswith("and 2 more")
