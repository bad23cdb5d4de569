"""A recommender learns as in one process whose gradients are as stale as the workers' are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.protocol import Result

from tests.slices import in_turn, sliced
from tests.support.children import Children
from tests.support.trainings import saved
from tests.trainer.child.programs.recommender import Recommender, RecommenderFlags, examples
from tests.trainer.strategies import reference
from tests.trainer.strategies.ways import COMBINATIONS, trained, two_workers

MODULE = "tests.trainer.child.programs.recommender:Recommender"
STEPS, BATCH, RATE = 1500, 128, 0.01
# Of two workers one updates while the other computes; a call under way may make it a few.
STALE = {"async": (1, 3), "sync": (0,)}


@pytest.fixture(params=sliced(list(COMBINATIONS), 1))
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Children, Any]]:
    with two_workers(request.param, tmp_path) as made:
        yield made


def simulated(staleness: int, batch: int, tmp_path: Path) -> tuple[dict[str, float], float]:
    """What one process ends with: the largest of each variable, and the loss."""
    settings: Any = SimpleNamespace(seed=1, micro_batches=1, precision="float32")
    task: Any = None
    flags: Any = RecommenderFlags()
    ctx = Context(task, settings, flags, tmp_path, tmp_path, tmp_path)
    program, data = Recommender(), examples(flags.users)
    told = {"batch": batch, "steps": STEPS, "rate": RATE, "staleness": staleness}
    model = reference.train_stale(program, ctx, data, **told)
    sizes = {v.name.partition(":")[0]: float(np.abs(v).max()) for v in model.variables}
    return sizes, program.evaluate(ctx, model)["loss"]


@in_turn(1, of=2)
def test_no_weight_and_no_loss_is_twice_what_the_same_staleness_gives(
    way: tuple[Children, Any], tmp_path: Path
) -> None:
    """Moving averages of batch normalization among them."""
    world, settings = way
    optimizer = {"name": "Adam", "learningRate": RATE}
    told = {"module": MODULE, "steps": STEPS, "batch": BATCH, "optimizer": optimizer, **settings}
    client = trained(world, **told)
    assert client.exit_code() == exit_codes.DONE, client.tail()
    (result,) = client.of(Result)
    found = {
        name: float(np.abs(value).max()) for name, value in saved(world, "1", result.step).items()
    }

    # A synchronous update is made of both workers' batches.
    batch = BATCH * 2 if settings["update"] == "sync" else BATCH
    stale = [simulated(one, batch, tmp_path) for one in STALE[settings["update"]]]
    of_simulations = [sizes for sizes, _ in stale]
    for name in ("users/embeddings", "items/embeddings", "normal/gamma", "normal/moving_variance"):
        assert found[name] <= 2 * max(sizes[name] for sizes in of_simulations), (name, found)
        assert found[name] >= min(sizes[name] for sizes in of_simulations) / 2, (name, found)
    assert result.metrics["loss"] <= 2 * max(loss for _, loss in stale)
