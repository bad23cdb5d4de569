"""What holds for every case: it is told whose turn it is, and it has a limit of time.

At its limit pytest-timeout fails a case: its stacks are shown and its fixtures clean up. That needs
the interpreter. A case that hangs in C, or as it cleans up, is ended by faulthandler after half as
long again: all stacks are shown, and its pytest process exits.

`@pytest.mark.timeout(seconds)` is a case's own limit; PYTEST_TIMEOUT=seconds is another default,
for a slow machine.
"""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.slices import chosen

# In a real cluster a case waits for pods several times, and for a namespace to end.
CLUSTER_SECONDS = 1200.0
_END = pytest.StashKey[float]()
_stderr: list[int] = []


def pytest_configure() -> None:
    _stderr.append(os.dup(2))  # the real one, which is not captured yet


def pytest_unconfigure() -> None:
    os.close(_stderr.pop())


def pytest_report_header() -> str:
    return chosen()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("chosen"):
            item.user_properties.append(("slice", "chosen"))  # for the suite's summary
        if item.get_closest_marker("cluster") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(CLUSTER_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    item.stash[_END] = time.monotonic() + 1.5 * settings.timeout
    _end_at(item.stash[_END])
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Others call their limits off when a case has failed; it has to clean up yet."""
    if _END in node.stash and not node.config.getoption("usepdb"):
        _end_at(node.stash[_END])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_enter_pdb() -> None:
    faulthandler.cancel_dump_traceback_later()


def _end_at(deadline: float) -> None:
    left = max(deadline - time.monotonic(), 0.1)
    faulthandler.dump_traceback_later(left, exit=True, file=_stderr[-1])
