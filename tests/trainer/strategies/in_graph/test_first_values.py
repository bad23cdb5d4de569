"""A variable in parts begins as a whole one does."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes

from tests.slices import sliced
from tests.support.trainings import saved
from tests.trainer.child.programs.wide_start import WIDE
from tests.trainer.strategies.ways import trained, two_workers


@pytest.mark.parametrize("update", sliced(["async", "sync"], 1))
def test_a_kernel_in_parts_begins_in_the_range_of_a_whole_one(update: str, tmp_path: Path) -> None:
    with two_workers(f"parameter-server-in-graph-{update}", tmp_path, 3) as (world, settings):
        module = "tests.trainer.child.programs.wide_start:WideStart"
        optimizer = {"name": "SGD", "learningRate": 0.001}
        chief = trained(world, module=module, optimizer=optimizer, steps=20, **settings)
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
        kernel = saved(world, "1", world.checkpoints()[-1])["wide/kernel"]
    limit = math.sqrt(6 / WIDE)  # He's, by the rows of the whole kernel
    assert 0.99 * limit < np.abs(kernel).max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("update", sliced(["async", "sync"], 1))
def test_a_large_model_that_its_first_call_makes_is_made_without_that_call(
    update: str, tmp_path: Path
) -> None:
    """The call would have whole tables sent to the chief."""
    with two_workers(f"parameter-server-in-graph-{update}", tmp_path, 3) as (world, settings):
        module = "tests.trainer.child.programs.in_pieces:Late"
        chief = trained(world, module=module, steps=20, **settings)
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
        assert "is built by a call" not in chief.text()
        tables = saved(world, "1", world.checkpoints()[-1])
    (table,) = (value for name, value in tables.items() if name.endswith("table/embeddings"))
    assert len(table) > 20_000
    assert len(np.unique(table[:, 0])) > 0.9 * len(table)


def test_large_variables_begin_with_the_same_values_whatever_the_ways(tmp_path: Path) -> None:
    """In-graph made on the ps that keep them, between-graph by worker 0."""
    found = []
    for way, ps in (("in-graph-async", 1), ("in-graph-sync", 3), ("between-graph-sync", 2)):
        folder = tmp_path / way
        folder.mkdir()
        with two_workers(f"parameter-server-{way}", folder, ps) as (world, settings):
            module = "tests.trainer.child.programs.in_pieces:Seeded"
            told = {"optimizer": {"name": "SGD", "learningRate": 0.1}, "flags": {"scale": 0.0}}
            client = trained(world, module=module, steps=10, **told, **settings)
            assert client.exit_code() == exit_codes.DONE, client.tail()
            found.append(saved(world, "1", world.checkpoints()[-1]))
    one_ps, three_ps, between_graph = found
    for name in ("table/embeddings", "wide/kernel"):
        assert len(np.unique(one_ps[name])) > 0.9 * one_ps[name].size, name
        np.testing.assert_array_equal(one_ps[name], three_ps[name])
    # Worker 0 makes a kernel of less than 1 MiB at once.
    np.testing.assert_array_equal(one_ps["table/embeddings"], between_graph["table/embeddings"])
