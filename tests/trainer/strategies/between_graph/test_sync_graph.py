"""What workers give to an accumulator of sparse gradients, and what is taken from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.strategies.between_graph import sync_graph
from tf_cluster_trainer.strategies.step.sparse_updates import are_distinct

ROWS, WIDTH = 9, 2
SUM = "UnsortedSegmentSum"


@pytest.mark.parametrize("distinct", [True, False], ids=["distinct", "repeated"])
def test_the_mean_of_rows_is_that_of_all_workers(distinct: bool) -> None:
    """Rows that a look-up asked for once each are not summed again, here and by the optimizer."""
    workers = [[7, 2, 2, 5], [2, 8, 2, 0]]
    means = np.zeros((ROWS, WIDTH))
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        accumulator = tf.compat.v1.SparseConditionalAccumulator(
            tf.float32, [ROWS, WIDTH], reduction_type="SUM"
        )
        given = []
        for ids in workers:
            indices: Any = tf.constant(ids, tf.int64)
            if distinct:
                indices = tf.identity(tf.unique(indices).y)
                ids = list(dict.fromkeys(ids))
            values = np.random.default_rng(1).normal(size=(len(ids), WIDTH))
            np.add.at(means, ids, values / len(workers))
            gradient = tf.IndexedSlices(
                tf.constant(values, tf.float32), indices, tf.constant([ROWS, WIDTH], tf.int64)
            )
            given.append(sync_graph._give(accumulator, gradient, tf.constant(0, tf.int64)))
        sums = [one for one in graph.get_operations() if one.type == SUM]
        mean = sync_graph._take(accumulator, len(workers))
        assert are_distinct(mean.indices)
        session.run(given)
        taken = session.run(mean)
    assert len(sums) == (0 if distinct else len(workers))
    found = np.zeros((ROWS, WIDTH))
    found[taken.indices] = taken.values
    np.testing.assert_allclose(found, means, rtol=1e-5)
    assert len(set(taken.indices)) == len(taken.indices)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_the_mean_of_gradients_of_any_type_is_of_that_type(kind: str, dtype: tf.DType) -> None:
    """Added up in float32 or better: in bfloat16 256 and 1 are 256."""
    given = [256.0, 1.0, 1.0, 2.0]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.Variable(tf.zeros([ROWS, WIDTH], dtype))
        accumulator = sync_graph._accumulator(kind, variable, "gradient-0")
        number = tf.constant(0, tf.int64)
        for each in given:
            gradient: Any = tf.fill([ROWS, WIDTH], tf.cast(each, dtype))
            if kind == "sparse":
                shape = tf.constant([ROWS, WIDTH], tf.int64)
                gradient = tf.IndexedSlices(gradient, tf.range(ROWS, dtype=tf.int64), shape)
            session.run(sync_graph._give(accumulator, gradient, number))
        mean = sync_graph._take(accumulator, len(given), variable.dtype)
        found = mean.values if kind == "sparse" else mean
        assert found.dtype == dtype
        np.testing.assert_array_equal(session.run(tf.cast(found, tf.float32)), 65.0)
