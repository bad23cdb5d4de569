from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .supervisors import Supervisors

MakeWorld = Callable[..., Supervisors]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """Worlds that share one run directory and end with the test."""
    worlds: list[Supervisors] = []

    def make(**settings: Any) -> Supervisors:
        worlds.append(Supervisors(tmp_path, **settings))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()
