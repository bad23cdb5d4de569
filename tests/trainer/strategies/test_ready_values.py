"""Values that are there already are given to a variable in parts as to a whole one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tf_cluster_trainer import exit_codes

from tests.slices import sliced
from tests.support.trainings import saved
from tests.trainer.child.programs.ready_values import MATRIX, made_model
from tests.trainer.strategies.ways import trained, two_workers

WAYS = ["weights", "set_weights", "load_weights", "load_model", "assign"]


@pytest.mark.parametrize("way", sliced(WAYS, 2))
@pytest.mark.parametrize("combination", ["in-graph-async", "between-graph-sync"])
def test_the_table_begins_with_them(combination: str, way: str, tmp_path: Path) -> None:
    whole = made_model(weights=[MATRIX])
    whole.save_weights(tmp_path / "w.h5")
    whole.save(tmp_path / "m.h5")
    with two_workers(f"parameter-server-{combination}", tmp_path, 3) as (world, settings):
        client = trained(
            world,
            module="tests.trainer.child.programs.ready_values:ReadyValues",
            flags={"way": way, "folder": str(tmp_path)},
            optimizer={"name": "SGD", "learningRate": 0.1},
            steps=10,
            **settings,
        )
        assert client.exit_code() == exit_codes.DONE, client.tail()
        assert "the table is in parts" in client.text()
        found = saved(world, "1", world.checkpoints()[-1])
    (table,) = (value for name, value in found.items() if name.endswith("table/embeddings"))
    np.testing.assert_array_equal(table, MATRIX)
