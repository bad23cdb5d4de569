"""Keras' lists of values, and its files, have a variable in parts as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.strategies.step import sharded
from tf_cluster_trainer.strategies.step.parts import Partitioner

ROWS, WIDTH = 11, 3
MATRIX = np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    sharded.install()


class Frozen(tf_keras.layers.Layer):  # type: ignore[misc]
    """With variables of each kind: trained and not, in parts and scalar."""

    def build(self, shape: Any) -> None:
        self.kept = self.add_weight("kept", [7, 2], trainable=False)
        self.scale = self.add_weight("scale", [], initializer="ones")
        self.turn = self.add_weight("turn", [5, 5], initializer="orthogonal")

    def call(self, found: Any) -> Any:
        return found * self.scale + tf.reduce_sum(self.kept) + tf.reduce_sum(self.turn)


def model(parts: int, **table: Any) -> Any:
    with tf.variable_creator_scope(Partitioner(parts, least=1).create_in_parts):
        ids = tf_keras.Input((), dtype=tf.int64, name="ids")
        found = tf_keras.layers.Embedding(ROWS, WIDTH, name="table", **table)(ids)
        normal = tf_keras.layers.Normalization(mean=[1.0] * WIDTH, variance=[4.0] * WIDTH)(found)
        found = tf_keras.layers.BatchNormalization(name="batch")(normal)
        return tf_keras.Model(ids, Frozen(name="frozen")(tf_keras.layers.LSTM(4)(found[:, None])))


def values(of: Any) -> list[Any]:
    """Of the whole variables, without Keras' lists."""
    found = []
    for weight in of.weights:
        container = getattr(weight, "_sharded_container", None)
        whole = container() if container else weight
        if not found or found[-1] is not whole:
            found.append(whole)
    return [tf.convert_to_tensor(one).numpy() for one in found]


def same(one: Any, other: Any) -> None:
    for found, expected in zip(values(one), values(other), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_lists_are_those_of_a_model_that_is_whole() -> None:
    whole, cut = model(1), model(3)
    assert len(cut.weights) > len(whole.weights)
    assert [one.shape for one in cut.get_weights()] == [one.shape for one in whole.get_weights()]
    cut.set_weights(whole.get_weights())
    same(cut, whole)
    for found, expected in zip(cut.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_ready_table_is_given_to_the_layer() -> None:
    made = model(2, weights=[MATRIX])
    np.testing.assert_array_equal(made.get_layer("table").get_weights()[0], MATRIX)
    np.testing.assert_array_equal(made.get_layer("table").embeddings, MATRIX)


@pytest.mark.parametrize("file", ["w.h5", "w.weights.h5", "w"])
def test_a_file_of_weights_is_of_whole_variables(file: str, tmp_path: Path) -> None:
    """What a whole model writes one in parts reads, and the other way round."""
    whole, cut, again = model(1), model(2), model(1)
    whole.save_weights(tmp_path / file)
    cut.load_weights(tmp_path / file)
    same(cut, whole)
    other = tmp_path / "other"
    other.mkdir()
    cut.save_weights(other / file)
    again.load_weights(other / file)
    same(again, whole)


class Own(tf_keras.Model):  # type: ignore[misc]
    """With a variable of its own, and a layer that keeps some in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.table = self.add_weight("table", [ROWS, WIDTH], initializer="normal")
        self.listed = Listed()

    def call(self, ids: Any) -> Any:
        return self.listed(tf.gather(self.table, ids))


class Listed(tf_keras.layers.Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def build(self, shape: Any) -> None:
        self.kept.append(tf.Variable(lambda: tf.random.normal([WIDTH, 2]), name="kept"))

    def call(self, rows: Any) -> Any:
        return rows @ self.kept[0]


def own(parts: int) -> Any:
    with tf.variable_creator_scope(Partitioner(parts, least=1).create_in_parts):
        made = Own()
        made(tf.constant([1]))
    return made


@pytest.mark.parametrize("file", ["w.h5", "w.weights.h5"])
def test_a_files_own_variables_of_a_model_and_those_in_lists_are_whole(
    file: str, tmp_path: Path
) -> None:
    whole, cut, again = own(1), own(2), own(1)
    assert len(whole.weights) == 2  # without it, Keras leaves out what is in lists
    whole.save_weights(tmp_path / file)
    cut.load_weights(tmp_path / file)  # before anything asked for its weights
    assert len(cut.weights) > len(whole.weights)
    same(cut, whole)
    cut.save_weights(tmp_path / f"again-{file}")
    again.load_weights(tmp_path / f"again-{file}")
    same(again, whole)
    if file == "w.h5":
        cut.load_weights(tmp_path / f"again-{file}", by_name=True)
        same(cut, whole)


def test_a_model_in_a_file_is_loaded_in_parts(tmp_path: Path) -> None:
    whole = tf_keras.Sequential([tf_keras.layers.Embedding(ROWS, WIDTH), tf_keras.layers.Dense(2)])
    whole(np.array([[1]]))
    for file in ("m.h5", "m.keras"):
        whole.save(tmp_path / file)
        with tf.variable_creator_scope(Partitioner(2, least=1).create_in_parts):
            loaded = tf_keras.models.load_model(tmp_path / file, compile=False)
        assert len(loaded.weights) > len(whole.weights)
        same(loaded, whole)


def test_what_does_not_fit_is_told_in_keras_words() -> None:
    layer = model(2).get_layer("table")
    with pytest.raises(ValueError, match=r"shape \(11, 3\) is not compatible .* shape \(4, 3\)"):
        layer.set_weights([MATRIX[:4]])
    with pytest.raises(ValueError, match=r"a weight list of length 3, .* expecting 1 weights"):
        layer.set_weights([MATRIX] * 3)
