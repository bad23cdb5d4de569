"""A pytest plugin: what failed in a suite's last run is in its next one, whatever the slice is.

    pytest -p tests.suites.again --again=FILE

FILE has a case's id on each line. At any moment it names the cases that failed last time and have
not been tried since, those that have failed now, and those that are running: a run that is killed
leaves them for the next one. A case that it names has the mark `again`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def read(file: Path) -> list[str]:
    """The ids in the file; none where there is no file."""
    return file.read_text().splitlines() if file.exists() else []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which file it is."""
    parser.addoption("--again", type=Path, metavar="FILE", help="cases that failed last time")
    parser.addoption(
        "--may-be-none", action="store_true", help="all cases may be of other commits' turns"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Only the first process writes; xdist's workers are told what it has read."""
    file = config.getoption("again")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_File(file))
    if config.getoption("may_be_none"):
        config.pluginmanager.register(_MayBeNone())


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases."""
    file = config.getoption("again")
    if file:
        again = getattr(config, "workerinput", {}).get("again", read(file))
        for item in (item for item in items if item.nodeid in set(again)):
            item.add_marker(pytest.mark.again)


class _MayBeNone:
    """It is well when every case is left out; not when there is none."""

    def __init__(self) -> None:
        self._left_out = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._left_out += len(items)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._left_out:
            session.exitstatus = pytest.ExitCode.OK


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._last_time = read(path)
        self._untried = dict.fromkeys(self._last_time)
        self._failed: dict[str, None] = {}
        self._running: dict[str, None] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["again"] = self._last_time

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running[nodeid] = None
        self._untried.pop(nodeid, None)
        self._write()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._running.pop(nodeid, None)
        self._write()

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """A case that a whole run did not meet is no more."""
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._untried.clear()
            self._running.clear()
        self._write()

    def _write(self) -> None:
        lines = {**self._untried, **self._failed, **self._running}
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self._path)
