"""The five combinations of strategy, replication and update, and a world to train each in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.trainer.child.world import World

COMBINATIONS = {
    f"{strategy}-{replication}-{update}": (strategy, replication, update)
    for strategy, replication, update in (
        ("parameter-server", "in-graph", "async"),
        ("parameter-server", "in-graph", "sync"),
        ("parameter-server", "between-graph", "async"),
        ("parameter-server", "between-graph", "sync"),
        ("all-reduce", "between-graph", "sync"),
    )
}


@contextmanager
def two_workers(
    combination: str, directory: Path, **environment: str
) -> Iterator[tuple[World, dict[str, Any]]]:
    """A world of two workers, and of two ps where the combination has any; its settings."""
    strategy, replication, update = COMBINATIONS[combination]
    settings = {"strategy": strategy, "replication": replication, "update": update}
    ps, told = 0 if strategy == "all-reduce" else 2, {**os.environ, **environment}
    with World(directory, 2, ps, told, has_chief=replication == "in-graph") as world:
        yield world, settings
