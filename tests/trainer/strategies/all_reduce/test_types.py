"""Variables of every type and size: what TensorFlow's collectives can't send goes in another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Progress
from tf_cluster_trainer.strategies.all_reduce.broadcast import from_reducible, reducible

from tests.support.children import Children
from tests.support.trainings import HERE, saved
from tests.trainer.child.programs.of_any_type import TYPES, value

PROGRAM = "tests.trainer.child.programs.of_any_type:OfAnyType"
# CollectiveReduce has a kernel for these.
SUMMED = {"float16", "bfloat16", "float32", "float64", "int32", "int64"}
NUMBERS = [one for one in TYPES if one != tf.string]


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda one: one.name)
def test_a_number_of_any_type_is_whole_after_a_sum_with_zeros(dtype: tf.DType) -> None:
    given = value(0, dtype)
    sent = reducible(given)
    assert sent.dtype.name in SUMMED
    found = from_reducible(sent + tf.zeros_like(sent), dtype)
    assert found.dtype == dtype and found.shape == given.shape
    np.testing.assert_array_equal(found.numpy(), given.numpy())


def test_every_worker_has_the_chiefs_values_of_all_types(tmp_path: Path) -> None:
    """The first ones, and after a new start those of the checkpoint."""
    told = {"module": PROGRAM, "path": HERE, "batch": 8, "per_call": 5}
    told |= {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
    with Children(tmp_path, workers=2, ps=0, has_chief=False) as world:
        for steps, start in ((10, 0), (20, 5)):
            children = world.train(run_id="types", steps=steps, flags={"start": start}, **told)
            ended = [child.exit_code() for child in children]
            assert ended == [exit_codes.DONE] * 2, children[0].tail()
            assert children[0].of(Progress)[-1].loss == 0
        found = saved(world, "types", 20)
    for dtype in NUMBERS:
        np.testing.assert_array_equal(found[f"kept/{dtype.name}"], value(0, dtype).numpy())
    assert found["kept/string"].tolist() == value(0, tf.string).numpy().tolist()
    assert found["kept/none"].shape == (0, 4)
