"""A table that each step reads whole, though it looks rows up, is named with its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.program import whole_reads
from tf_cluster_trainer.program.trial import run_trial

from tests.support.trainings import context
from tests.trainer.program.test_storageless import IDS, Made

layers, regularizers = tf_keras.layers, tf_keras.regularizers


def table(**more: Any) -> Callable[[], Any]:
    def make() -> Any:
        ids = layers.Input((2,), dtype=tf.int64)
        seen = layers.Flatten()(layers.Embedding(5_000, 64, name="words", **more)(ids))
        return tf_keras.Model(ids, layers.Dense(2, kernel_regularizer="l2")(seen))

    return make


class Tied(tf_keras.Model):  # type: ignore[misc]
    """A model that gives each word's score by the table that it looks words up in."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5_000, 64, name="words")

    def call(self, ids: Any, training: bool = False) -> Any:
        return tf.reduce_mean(self.table(ids), axis=1) @ tf.transpose(self.table.embeddings)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_reads, "LEAST_BYTES", 1 << 20)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(table(), False, id="rows"),
        pytest.param(table(embeddings_regularizer="l2"), True, id="weights"),
        pytest.param(table(activity_regularizer="l2"), False, id="looked-up rows"),
        pytest.param(Tied, True, id="tied"),
    ],
)
def test_a_table_that_is_read_whole(
    make: Callable[[], Any], named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_trial(Made(make, *IDS), context(tmp_path))
    told = capsys.readouterr()
    assert ("words/embeddings from the ps (1 MiB)" in told.err + told.out) == named


def test_it_is_said_once_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = context(tmp_path)
    other = replace(ctx, task=replace(ctx.task, index=1))
    run_trial(Made(table(embeddings_regularizer="l2"), *IDS), other)
    told = capsys.readouterr()
    assert "from the ps" not in told.err + told.out
