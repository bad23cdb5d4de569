"""Worker 0 gives the ps the state's values: every one, and many small ones at once."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.strategies.between_graph import state

from tests.trainer.strategies.between_graph import states

ROWS = 2048  # of 256 floats: the least that comes in pieces of some rows


def filled(target: str, small: int) -> tuple[dict[str, Any], int]:
    """What the ps have after a fill of a table and so many vectors, and the runs that it took."""
    shapes = {f"model/v{at}": (at % 7 + 1,) for at in range(small)} | {"model/table": (ROWS, 256)}
    with tf.Graph().as_default() as graph:
        made = states.made(shapes)
        worker: Any = SimpleNamespace(state=made, ps=1)
        operations = state.StateInitializer(worker)
    values = {one.key: np.full(one.spec.shape, at) for at, one in enumerate(made.stored)}
    runs = 0
    with tf.compat.v1.Session(target, graph=graph) as session:
        session.run([operations.no_members, operations.initialize])

        def run(fetches: Any, feeds: Any) -> Any:
            nonlocal runs
            runs += 1
            return session.run(fetches, feeds)

        operations.put(run, _pieces(values))
        found = {one.key: session.run(one.parts[0].read_value()) for one in made.stored}
    assert found.keys() == values.keys()
    for key, value in values.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)
    return found, runs


def _pieces(values: dict[str, Any]) -> Iterator[Piece]:
    """Of the tables only some rows at a time, and the last of one before its first."""
    for key, value in values.items():
        if value.shape[:1] != (ROWS,):
            yield Piece(key, value)
            continue
        for first in (ROWS // 2, 0):
            yield Piece(key, value[first : first + ROWS // 2], first)


def test_many_small_variables_take_no_more_runs_than_few() -> None:
    """Each other run would cost the time and memory of a whole graph."""
    ps = states.ps_of_one()
    found, few = filled(ps, 3)
    assert len(found) == 3 * (3 + 1) + 1
    tf.compat.v1.Session.reset(ps)
    _, many = filled(ps, 60)
    assert many == few == 3 * 2 + 1  # of halves of the table and its slots, and of all the others
