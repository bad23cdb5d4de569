"""A model that is only looked at: described as ever, without memory for its large variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import container_memory
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.checkpoint.export import About, export
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.storageless import StoragelessVariable
from tf_cluster_trainer.program.trial import (
    batch_specs,
    build_filled,
    build_model,
    look_at_model,
    run_trial,
)

from tests.slices import in_turn, sliced
from tests.support.processes import numbers_of
from tests.support.trainings import context

layers = tf_keras.layers
ROWS = 5_000  # of 64 floats: 1.2 MiB


class Made(Program):
    """A program of a model that a function makes, and of features of two ids, words or pixels."""

    def __init__(self, make: Callable[[], Any], dtype: tf.DType, shape: tuple[int, ...]) -> None:
        self.make = make
        self.spec = tf.TensorSpec(shape, dtype)

    def build_model(self, ctx: Any) -> Any:
        return self.make()

    def dataset(self, ctx: Any, input_context: Any) -> Any:
        features = tf.zeros([4, *self.spec.shape], self.spec.dtype)
        return tf.data.Dataset.from_tensor_slices((features, tf.zeros([4], tf.int32)))


def functional() -> Any:
    ids = layers.Input((2,), dtype=tf.int64)
    seen = layers.Flatten()(layers.Embedding(ROWS, 64)(ids))
    seen = layers.BatchNormalization()(layers.Dense(3000, activation="relu")(seen))
    return tf_keras.Model(ids, layers.Dense(2)(layers.Dropout(0.1)(seen)))


def recurrent() -> Any:
    table = layers.Embedding(ROWS, 64)
    return tf_keras.Sequential([table, layers.LSTM(512), layers.Dense(2)])


def both_ways() -> Any:
    turned = layers.Bidirectional(layers.GRU(300, return_sequences=True))
    pooled = layers.GlobalAveragePooling1D()
    table = layers.Embedding(ROWS, 64)
    return tf_keras.Sequential(
        [table, turned, layers.LayerNormalization(), pooled, layers.Dense(2)]
    )


def attention() -> Any:
    ids = layers.Input((2,), dtype=tf.int64)
    seen = layers.Embedding(ROWS, 64)(ids)
    mixed = layers.MultiHeadAttention(8, 512)(seen, seen)
    return tf_keras.Model(ids, layers.Dense(2)(layers.GlobalMaxPool1D()(mixed)))


def words() -> Any:
    given = layers.Input((2,), dtype=tf.string)
    seen = layers.Embedding(ROWS, 64)(layers.StringLookup(vocabulary=["a", "b"])(given))
    return tf_keras.Model(given, layers.Dense(2)(layers.Flatten()(seen)))


def pixels() -> Any:
    given = layers.Input((8, 8, 3))
    seen = layers.Conv2D(8, 3)(layers.Rescaling(1 / 255)(given))
    seen = layers.Dense(1024, kernel_initializer="orthogonal", kernel_regularizer="l2")(
        layers.Flatten()(seen)
    )
    return tf_keras.Model(given, layers.Dense(2)(seen))


class Late(tf_keras.Model):  # type: ignore[misc]
    """Its variables come with its first call, one of them of a value that is computed there."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(ROWS, 64)
        self.scale = tf.Variable(1.0, name="scale")
        self.norm = layers.BatchNormalization()

    def build(self, shape: Any) -> None:
        self.turned = tf.Variable(tf.random.normal([64, 5000]), name="turned")
        super().build(shape)

    def call(self, ids: Any, training: bool = False) -> Any:
        seen = tf.reduce_mean(self.norm(self.table(ids), training=training), 1)
        return tf.matmul(seen * self.scale, self.turned)


class Scoped(tf_keras.Model):  # type: ignore[misc]
    """Its first call makes the variables, in two scopes of one name."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table = layers.Embedding(rows, 64)
        self.blocks = [layers.Dense(64), layers.Dense(64)]

    def call(self, ids: Any, training: bool = False) -> Any:
        seen = self.table(ids)
        for block in self.blocks:
            with tf.name_scope("block"):
                seen = block(seen)
        return tf.reduce_mean(seen, 1)


class Caches(tf_keras.Model):  # type: ignore[misc]
    """It makes a tensor in its first call, and uses that one in all."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(ROWS, 64)
        self.places: Any = None

    def call(self, ids: Any, training: bool = False) -> Any:
        if self.places is None:
            self.places = tf.range(2, dtype=tf.float32)[:, tf.newaxis]
        return tf.reduce_mean(self.table(ids) * self.places, 1)


def zeroes_the_padding() -> Any:
    model = functional()
    table = model.layers[1].embeddings
    table.scatter_nd_update([[0]], tf.zeros([1, 64]))
    return model


def predicts() -> Any:
    model = functional()
    model.predict(np.zeros((2, 2), np.int64), verbose=0)
    return model


def takes_weights_over() -> Any:
    model, teacher = functional(), functional()
    model.set_weights(teacher.get_weights())
    return model


def pretrained() -> Any:
    found = np.random.default_rng(1).normal(size=(ROWS, 64)).astype(np.float32)
    table = layers.Embedding(ROWS, 64, weights=[found], trainable=False)
    kept = layers.Embedding(ROWS, 64, embeddings_initializer=tf_keras.initializers.Constant(found))
    ids = layers.Input((2,), dtype=tf.int64)
    return tf_keras.Model(ids, layers.Dense(2)(layers.Flatten()(table(ids) + kept(ids))))


def shared() -> Any:
    """A table that is looked up and, turned, gives the logits, as language models have it."""
    ids = layers.Input((2,), dtype=tf.int64)
    table = layers.Embedding(ROWS, 64)
    seen = layers.Dense(64)(layers.Flatten()(table(ids)))
    return tf_keras.Model(ids, tf.matmul(seen, table.embeddings, transpose_b=True))


def reads() -> Any:
    model = functional()
    assert np.isfinite(model.layers[1].embeddings.numpy()).all()
    return model


def reads_rows() -> Any:
    model = functional()
    assert model.layers[1](tf.constant([[1, 2]])).shape == (1, 2, 64)
    return model


IDS: tuple[tf.DType, tuple[int, ...]] = (tf.int64, (2,))
MODELS: dict[str, tuple[Callable[[], Any], tuple[tf.DType, tuple[int, ...]]]] = {
    "functional": (functional, IDS),
    "recurrent": (recurrent, IDS),
    "both ways": (both_ways, IDS),
    "attention": (attention, IDS),
    "words": (words, (tf.string, (2,))),
    "pixels": (pixels, (tf.float32, (8, 8, 3))),
    "late": (Late, IDS),
    "pretrained": (pretrained, IDS),
    "shared": (shared, IDS),
    "small scopes": (lambda: Scoped(10), IDS),
    "reads": (reads, IDS),
    "reads rows": (reads_rows, IDS),
    "caches": (Caches, IDS),
    "zeroes the padding": (zeroes_the_padding, IDS),
    "predicts": (predicts, IDS),
    "takes weights over": (takes_weights_over, IDS),
}
ALL_IS_MADE = (
    "small scopes",
    "reads",
    "reads rows",
    "zeroes the padding",
    "predicts",
    "takes weights over",
)
# A large one of these is built with all values where it is to be used: in its first call it makes a
# variable of a value, or a tensor that it keeps.
WITH_VALUES = (*ALL_IS_MADE, "late", "caches")


def described(model: Any) -> list[tuple[str, tuple[int, ...], str, bool]]:
    return [(v.name, tuple(v.shape), v.dtype.name, v.trainable) for v in model.variables]


@pytest.mark.parametrize("name", sliced(list(MODELS), 5))
def test_a_model_is_described_as_if_it_were_made(name: str, tmp_path: Path) -> None:
    make, (dtype, shape) = MODELS[name]
    program, ctx = Made(make, dtype, shape), context(tmp_path)
    features = run_trial(program, ctx).features

    def look(model: Any) -> tuple[Any, set[str]]:
        def step(given: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(given, training=True)) + sum(model.losses, 0.0)
            return tape.gradient(loss, model.trainable_variables)

        graph = tf.function(step).get_concrete_function(features).graph
        assert graph.captures
        without = {
            v.name
            for v in model.variables
            if isinstance(v, StoragelessVariable) and not v.is_initialized()
        }
        return described(model), without

    found, without = look_at_model(program, ctx, features, look)
    whole = build_model(program, ctx, features)
    assert found == described(whole)
    if name in ALL_IS_MADE:
        assert not without
    else:
        large = {v.name for v in whole.variables if tf.size(v).numpy() * v.dtype.size >= 1 << 20}
        assert without and without <= large


@pytest.mark.parametrize("name", sliced(list(MODELS), 5))
def test_a_model_that_is_filled_computes_and_is_exported_with_those_values(
    name: str, tmp_path: Path
) -> None:
    make, (dtype, shape) = MODELS[name]
    program, ctx = Made(make, dtype, shape), context(tmp_path)
    features, _ = batch_specs(program, ctx)
    plain = build_model(program, ctx, features)
    chance = np.random.default_rng(1)
    values = [chance.normal(size=v.shape).astype(v.dtype.as_numpy_dtype) for v in plain.variables]

    def fill(model: Any) -> None:
        for variable, value in zip(model.variables, values, strict=True):
            variable.assign(value)

    fill(plain)
    filled = build_filled(program, ctx, features, fill, "float32")
    given = tf.constant("a", shape=(3, 2)) if dtype is tf.string else tf.ones((3, *shape), dtype)
    expected = plain(given, training=False).numpy()
    np.testing.assert_array_equal(filled(given, training=False), expected)

    path = export(
        filled, features, About("a", "1", 1), tmp_path / "export", check_owner=lambda: None
    )
    served = tf.saved_model.load(str(path)).signatures["serving_default"]
    (found,) = served(**{next(iter(served.structured_input_signature[1])): given}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_broken_model_has_its_own_error_and_a_small_one_is_built_once(tmp_path: Path) -> None:
    built = 0

    def broken(rows: int) -> Any:
        nonlocal built
        built += 1
        layers.Embedding(rows, 64).build(None)
        raise ValueError("no such file: vectors.txt")

    for rows, times in ((10, 1), (ROWS, 3)):
        with pytest.raises(HookError, match=r"^the program failed in build_model: ValueError: no"):
            run_trial(Made(partial(broken, rows), *IDS), context(tmp_path))
        assert built == times
        built = 0


def test_a_program_that_reads_a_value_is_told_what_that_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for make in (reads, reads_rows):
        run_trial(Made(make, *IDS), context(tmp_path))
        told = capsys.readouterr()
        assert "the program reads embedding/embeddings:0 while its model is" in told.err + told.out


MEMORY = """
import resource, sys
from pathlib import Path
import tensorflow as tf, tf_keras
from tf_cluster_trainer.program.trial import run_trial
from tf_cluster_trainer.strategies.between_graph import traced_step
from tests.support.trainings import context
from tests.trainer.program.test_storageless import Made, IDS

def model(rows):
    ids = tf_keras.layers.Input((2,), dtype=tf.int64)
    seen = tf_keras.layers.Flatten()(tf_keras.layers.Embedding(rows, 64)(ids))
    return tf_keras.Model(ids, tf_keras.layers.Dense(2)(seen))

ctx = context(Path(sys.argv[1]))
ctx.settings.batch_size = 4
peaks = []
for rows in (10_000, 4_000_000):
    program = Made(lambda: model(rows), *IDS)
    trial = run_trial(program, ctx)
    traced_step.trace(program, ctx, trial, 1)
    assert trial.variables["model/embedding/embeddings"].shape == (rows, 64)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(*peaks)
"""


@in_turn(0, of=2)
def test_a_table_of_a_gigabyte_takes_no_memory_to_look_at(tmp_path: Path) -> None:
    small, large = numbers_of(MEMORY, tmp_path)
    assert large - small < 50, f"{small} and {large} MiB at the peak"


@pytest.mark.parametrize("filled", [True, False])
def test_a_large_program_that_needs_values_is_refused_where_they_do_not_fit(
    filled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, ctx = Made(reads, *IDS), context(tmp_path)
    features = run_trial(program, ctx).features

    def build() -> None:
        if filled:
            build_filled(program, ctx, features, lambda model: None, "float32")
        else:
            run_trial(program, ctx)

    monkeypatch.setattr(container_memory, "limit", lambda: 1 << 20)
    build()  # a small one may be made as ever
    monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 1 << 20)
    told = (
        r"made with all its values here, since .* and this task may have 1 MiB\. Have .* more "
        r"memory \(values: ROLE\.resources\.limits\.memory; params: resources\.ROLE\.limits\."
    )
    with pytest.raises(ProgramError, match=told):
        build()
