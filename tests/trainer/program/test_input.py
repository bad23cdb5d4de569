"""In which order a worker takes its examples."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import Context, Program, exit_codes
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program.context import DataShard
from tf_cluster_trainer.protocol import Ready

from tests.slices import sliced
from tests.support.children import Children
from tests.support.trainings import HERE, context, saved
from tests.trainer.child.programs.own_part import EXAMPLES
from tests.trainer.strategies.ways import COMBINATIONS

DRAWS = "tests.trainer.child.programs.own_part:Draws"
BATCH = 8
AN_EPOCH = EXAMPLES // BATCH


class Numbers(Program):
    """Each example is its own number, whoever reads it."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return tf.data.Dataset.range(EXAMPLES).map(lambda number: (number, number))


def drawn(
    tmp_path: Path, *, index: Any = 0, start: Any = 0, seed: int = 1, micro: int = 1
) -> list[Any]:
    """The batches of two epochs, as the worker of this index draws them from a start at a step."""
    settings: Any = SimpleNamespace(seed=seed, batch_size=BATCH, micro_batches=micro)
    ctx = replace(context(tmp_path), settings=settings)
    found = worker_input.of_worker(
        Numbers(), ctx, DataShard(index, 4), start, tf.distribute.InputContext()
    )
    return [features.numpy().tolist() for features, _ in found.take(2 * AN_EPOCH // micro)]


def test_a_worker_draws_each_example_once_an_epoch_and_each_epoch_in_another_order(
    tmp_path: Path,
) -> None:
    batches = drawn(tmp_path)
    epochs = [[*chain(*batches[:AN_EPOCH])], [*chain(*batches[AN_EPOCH:])]]
    assert [sorted(epoch) for epoch in epochs] == [list(range(EXAMPLES))] * 2
    assert epochs[0] != epochs[1]
    assert list(range(EXAMPLES)) not in epochs


def test_the_same_worker_draws_the_same_again_whichever_way_it_is_told_its_index(
    tmp_path: Path,
) -> None:
    once = drawn(tmp_path, index=1, start=40)
    assert drawn(tmp_path, index=1, start=40) == once
    told = {"index": tf.constant(1, tf.int64), "start": tf.constant(40, tf.int64)}
    assert drawn(tmp_path, **told) == once


def test_every_worker_every_start_and_every_seed_has_an_order_of_its_own(tmp_path: Path) -> None:
    """Of the whole data set, since this program gives nobody a part."""
    orders = [
        drawn(tmp_path, index=index, start=start, seed=seed)
        for index in range(4)
        for start in (0, 1, 40)
        for seed in (1, 2)
    ]
    for one, other in combinations(orders, 2):
        assert one[:AN_EPOCH] != other[:AN_EPOCH]


@pytest.mark.parametrize("micro", [2, 4])
def test_a_steps_batches_are_the_next_ones_of_that_order(tmp_path: Path, micro: int) -> None:
    steps = drawn(tmp_path, micro=micro)
    assert all(len(step) == micro for step in steps)
    assert [*chain(*steps)] == drawn(tmp_path)


@pytest.mark.parametrize("combination", sliced(list(COMBINATIONS), 1))
def test_no_two_workers_of_a_run_draw_alike_and_none_does_after_a_new_start(
    tmp_path: Path, combination: str
) -> None:
    """Half an epoch in each start. Async it is one worker, since two share the steps by chance."""
    strategy, replication, update = COMBINATIONS[combination]
    workers = 2 if update == "sync" else 1
    steps = AN_EPOCH // 2
    told: dict[str, Any] = {"strategy": strategy, "replication": replication, "update": update}
    told |= {"module": DRAWS, "path": HERE, "batch": BATCH}
    told["optimizer"] = {"name": "SGD", "learningRate": float(BATCH * workers)}
    with_ps, with_chief = int(strategy != "all-reduce"), replication == "in-graph"
    with Children(tmp_path, workers=workers, ps=with_ps, has_chief=with_chief) as world:
        world.serve(*(("ps", "worker") if with_chief else ("ps",)))
        totals = [np.zeros([workers, EXAMPLES])]
        for start in (1, 2):
            if with_chief:
                clients = [world.chief(steps=start * steps, **told)]
                clients[0].wait_for(Ready)
                clients[0].go()
            else:
                clients = world.train(steps=start * steps, **told)
            for client in clients:
                assert client.exit_code() == exit_codes.DONE, client.tail()
            kernel = saved(world, "1", start * steps)["of/kernel"]
            totals.append(-kernel.reshape([2, EXAMPLES])[:workers])
    orders = [*np.diff(totals, axis=0).reshape([2 * workers, EXAMPLES])]
    for order in orders:
        assert sorted(order) == [0] * (EXAMPLES // 2) + [1] * (EXAMPLES // 2)
    for one, other in combinations(orders, 2):
        assert one.tolist() != other.tolist()
