"""Worlds for the tests of the child: processes are shared where a test leaves them as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.child.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two workers and two ps that serve, for chiefs one after the other."""
    with World(tmp_path_factory.mktemp("world"), workers=2, ps=2) as world:
        world.serve()
        yield world


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A worker and two ps, as `world`."""
    with World(tmp_path_factory.mktemp("one"), workers=1, ps=2) as world:
        world.serve()
        yield world


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[World]:
    """A world whose workers and ps are never started: for what must end before they are needed."""
    with World(tmp_path, workers=1, ps=1) as world:
        yield world
