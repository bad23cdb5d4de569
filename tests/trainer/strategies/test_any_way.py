"""What a user is promised of every combination of strategy, replication and update alike."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Progress, Result

from tests.slices import sliced
from tests.support.children import DIGITS, Children
from tests.support.trainings import HERE
from tests.trainer.strategies.ways import COMBINATIONS, trained, two_workers

PROGRAMS = "tests.trainer.child.programs"


@pytest.fixture(params=sliced(list(COMBINATIONS), 1))
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Children, Any]]:
    """A world of two workers for one run, and its settings."""
    with two_workers(request.param, tmp_path) as made:
        yield made


def test_a_step_that_raises_is_exit_2_and_shows_the_programs_own_lines_first(
    way: tuple[Children, Any],
) -> None:
    world, settings = way
    told = {"module": f"{PROGRAMS}.broken:RaisesWhileTraining", **settings}
    if settings["strategy"] == "parameter-server" and settings["replication"] == "between-graph":
        client = world.start("worker", 0, path=HERE, batch=32, **told)  # it never says Ready
    else:
        client = trained(world, **told)
    assert client.exit_code() == exit_codes.CONFIG, client.tail()
    message = client.of(Failure)[-1].message
    assert re.search(r"ValueError: Cannot reshape a tensor .* to shape \[7,7\]", message), message
    first, second, third = client.text().partition("Traceback of the program")[2].splitlines()[1:4]
    assert re.fullmatch(r'  File ".*/programs/broken\.py", line \d+, in loss', first)
    assert "wrong = tf.reshape(outputs, [7, 7])" in second
    assert third.startswith("ValueError: ")


def test_a_nan_loss_stops_with_exit_2_and_the_step_and_saves_nothing(
    way: tuple[Children, Any],
) -> None:
    world, settings = way
    optimizer = {"name": "SGD", "learningRate": 1e30}
    client = trained(world, module=DIGITS, steps=100_000, optimizer=optimizer, **settings)
    others = (
        [] if world.has_chief else [one for one in world.children if "-worker-1" in one.log.name]
    )
    assert len(others) == (0 if world.has_chief else 1)
    for child in (client, *others):
        assert child.exit_code() == exit_codes.CONFIG, child.tail()
        message = child.of(Failure)[-1].message
        told = re.search(r"the loss became NaN or infinite about step (\d+);", message)
        assert told, message
        # The first updates make it so, of a call of 10 steps.
        assert int(told[1]) <= 100
    assert world.checkpoints() == []


def test_a_truncated_newest_checkpoint_falls_back_to_the_one_before_and_says_so(
    way: tuple[Children, Any],
) -> None:
    world, settings = way
    told = {"module": DIGITS, **settings}
    assert trained(world, steps=150, save_steps=50, keep=10, **told).exit_code() == exit_codes.DONE
    *_, before, newest = world.checkpoints()
    data = next((world.run_dir() / "checkpoints" / f"ckpt-{newest}").glob("*.data-*"))
    os.truncate(data, data.stat().st_size // 2)

    client = trained(world, steps=newest + 10, **told)
    assert client.exit_code() == exit_codes.DONE, client.tail()
    assert f"checkpoint of step {newest} can't be read" in client.text()
    assert client.of(Progress)[0].step == before
    assert newest + 10 <= client.of(Result)[0].step < newest + 60
    assert newest not in world.checkpoints()
