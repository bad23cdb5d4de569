"""A pytest plugin: a full run that was ended, or that failed, goes on where it was.

    pytest -p tests.suites.resume --passed=FILE

FILE has the id of each case that has passed on this commit, a line each. The next run leaves those
out. Where the cases of a file make one story (the mark `story`), they are all left out or none.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.suites.again import read

FOLDER = "full-"
"""A folder for each commit begins so: of its suites, what has passed and what once failed."""


def folder_of(commit: str, build: Path) -> Path:
    """Where a full run on this commit keeps what has passed; those of other commits are removed."""
    mine = build / f"{FOLDER}{commit[:12]}"
    for other in build.glob(f"{FOLDER}*"):
        if other != mine:
            shutil.rmtree(other)
    mine.mkdir(parents=True, exist_ok=True)
    return mine


def forget(commit: str, build: Path) -> None:
    """The next full run on this commit begins anew."""
    shutil.rmtree(folder_of(commit, build))


def count(folder: Path) -> int:
    """How many cases have passed there."""
    return sum(len(set(read(file))) for file in folder.glob("*.passed"))


def failed_once(folder: Path) -> int:
    """How many cases have failed there, whether or not they have passed since."""
    return sum(len(set(read(file))) for file in folder.glob("*.failed-once"))


def failures_file(passed: Path) -> Path:
    """Beside FILE: the ids of cases that failed at least once on this commit."""
    return passed.with_suffix(".failed-once")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which file it is."""
    parser.addoption("--passed", type=Path, metavar="FILE", help="cases that are left out")


def pytest_configure(config: pytest.Config) -> None:
    """Only the first process writes; xdist's workers are told what it has read."""
    file = config.getoption("passed")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_File(file))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out."""
    file = config.getoption("passed")
    if not file:
        return
    passed = set(getattr(config, "workerinput", {}).get("passed") or read(file))
    left_out = [
        item for group in _groups(items) if passed.issuperset(_ids(group)) for item in group
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(_ids(left_out))
        items[:] = [item for item in items if item.nodeid not in gone]


def _groups(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Each case for itself, and the cases of a story together."""
    for _, group in groupby(items, lambda one: one.path if _is_of_story(one) else one.nodeid):
        yield list(group)


def _is_of_story(item: pytest.Item) -> bool:
    return item.get_closest_marker("story") is not None


def _ids(items: list[pytest.Item]) -> list[str]:
    return [item.nodeid for item in items]


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = read(path)
        self._well: dict[str, bool] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed"] = self._before

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """That nothing is left to do is well."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._before:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._well[report.nodeid] = self._well.get(report.nodeid, True) and report.passed
        if report.failed:
            _append(failures_file(self._path), report.nodeid)
        elif report.when == "teardown" and self._well[report.nodeid]:
            _append(self._path, report.nodeid)


def _append(file: Path, line: str) -> None:
    with file.open("a") as stream:
        stream.write(f"{line}\n")
