"""A constraint that no step could keep is refused before a task waits for another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import trial

from tests.support.trainings import context
from tests.trainer.program.test_storageless import IDS, Made

layers = tf_keras.layers


def table(rows: int = 50, trainable: bool = True, **more: Any) -> Callable[[], Any]:
    def make() -> Any:
        ids = layers.Input((2,), dtype=tf.int64)
        words = layers.Embedding(rows, 64, name="words", trainable=trainable, **more)
        out = layers.Dense(2, kernel_constraint="max_norm")
        return tf_keras.Model(ids, out(layers.Flatten()(words(ids))))

    return make


class Tied(tf_keras.Model):  # type: ignore[misc]
    """A model that gives each word's score by the table that it looks words up in."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(50, 64, embeddings_constraint="non_neg", name="words")

    def call(self, ids: Any, training: bool = False) -> Any:
        return tf.reduce_mean(self.table(ids), axis=1) @ tf.transpose(self.table.embeddings)


@pytest.mark.parametrize(
    "rows", [pytest.param(50, id="small"), pytest.param(5_000, id="without values")]
)
@pytest.mark.parametrize("constraint", ["non_neg", tf_keras.constraints.UnitNorm(axis=1)])
def test_a_variable_that_is_looked_up_by_rows(
    rows: int, constraint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is known at once: the model is not built again, with all of its values."""

    def never(*given: Any, **named: Any) -> Any:
        raise AssertionError("the model is built with values")

    monkeypatch.setattr(trial, "build_model", never)
    program = Made(table(rows, embeddings_constraint=constraint), *IDS)
    with pytest.raises(ProgramError, match="variable words/embeddings has a constraint") as raised:
        trial.run_trial(program, context(tmp_path))
    assert not isinstance(raised.value, HookError)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(table(), id="a kernel"),
        pytest.param(table(trainable=False, embeddings_constraint="non_neg"), id="not trained"),
        pytest.param(
            table(embeddings_constraint="non_neg", embeddings_regularizer="l2"), id="regularized"
        ),
        pytest.param(Tied, id="tied"),
    ],
)
def test_a_variable_whose_gradient_is_of_all_rows(make: Callable[[], Any], tmp_path: Path) -> None:
    trial.run_trial(Made(make, *IDS), context(tmp_path))
