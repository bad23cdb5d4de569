"""The five combinations of strategy, replication and update, and a world to train each in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tf_cluster_trainer import config
from tf_cluster_trainer.protocol import Ready

from tests.support.children import Child, Children
from tests.support.trainings import HERE

COMBINATIONS = {
    "-".join(words): words
    for words in ((row.strategy, row.replication, row.update) for row in config.COMBINATIONS)
}


@contextmanager
def two_workers(
    combination: str, directory: Path, number_of_ps: int = 2, **environment: str
) -> Iterator[tuple[Children, dict[str, Any]]]:
    """A world of two workers, and of two ps where the combination has any; its settings."""
    strategy, replication, update = COMBINATIONS[combination]
    settings = {"strategy": strategy, "replication": replication, "update": update}
    ps, told = 0 if strategy == "all-reduce" else number_of_ps, {**os.environ, **environment}
    with Children(directory, 2, ps, told, has_chief=replication == "in-graph") as world:
        yield world, settings


def trained(world: Children, **settings: Any) -> Child:
    """The client when all is over."""
    told = {"path": HERE, "per_call": 10, "batch": 32, **settings}
    if world.has_chief:
        for kind, number in (("worker", 2), ("ps", world.ps)):
            for index in range(number):
                world.start(kind, index, **told)
        client = world.chief(**told)
        client.wait_for(Ready)
        client.go()
    else:
        for index in range(world.ps):
            world.start("ps", index, **told)
        client = world.train(**told)[0]
    client.exit_code()
    return client
