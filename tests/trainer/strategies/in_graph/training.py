"""A chief's child that trains the program which `reference` knows."""

from __future__ import annotations

from typing import Any

from tf_cluster_trainer.protocol import Ready

from tests.support.children import Child, Children
from tests.support.trainings import HERE
from tests.trainer.strategies.reference import BATCH, FIXED


def trained(world: Children, run_id: str, **settings: Any) -> Child:
    """Let go; two workers and the ps serve already. In-graph sync, unless told otherwise."""
    told = {"module": FIXED, "path": HERE, "update": "sync", "batch": BATCH, "per_call": 7}
    chief = world.chief(run_id=run_id, **{**told, **settings})
    chief.wait_for(Ready)
    chief.go()
    return chief
