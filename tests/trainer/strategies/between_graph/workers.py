"""Children of workers that each train by themselves."""

from __future__ import annotations

from typing import Any

from tf_cluster_trainer.protocol import Ready

from tests.support.children import Child, Children, own
from tests.support.trainings import HERE
from tests.trainer.strategies.reference import BATCH, FIXED


def start(world: Children, index: int, run_id: str, **settings: Any) -> Child:
    """A worker's child that is told to train."""
    own(world.run_dir(run_id))
    told = {
        "module": FIXED,
        "path": HERE,
        "replication": "between-graph",
        "batch": BATCH,
        "per_call": 7,
        "report_seconds": 0.1,
        "optimizer": {"name": "Momentum", "learningRate": 1e-4},
    }
    return world.start("worker", index, run_id=run_id, **{**told, **settings})


def begin(world: Children, index: int, run_id: str, **settings: Any) -> Child:
    """A worker's child that makes steps, or waits for the others."""
    worker = start(world, index, run_id, **settings)
    worker.wait_for(Ready)
    worker.go()
    return worker
