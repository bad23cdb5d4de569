"""Worlds for the tests of the child: processes are shared where a test leaves them as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import Children


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Two workers and two ps that serve, for chiefs one after the other."""
    with Children(tmp_path_factory.mktemp("world"), workers=2, ps=2) as world:
        world.serve()
        yield world


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """A worker and two ps, as `world`."""
    with Children(tmp_path_factory.mktemp("one"), workers=1, ps=2) as world:
        world.serve()
        yield world


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[Children]:
    """A world whose workers and ps are never started: for what must end before they are needed."""
    with Children(tmp_path, workers=1, ps=1) as world:
        yield world
