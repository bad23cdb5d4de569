"""A plain model whose large variables are pages of a checkpoint: it is used as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.checkpoint import pieces, read, variables
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.export import About, export
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta
from tf_cluster_trainer.program.fill import fill_model
from tf_cluster_trainer.program.storageless import StoragelessVariable
from tf_cluster_trainer.program.trial import batch_specs, build_filled, build_model

from tests.slices import in_turn, sliced
from tests.support.processes import numbers_of
from tests.support.trainings import context
from tests.trainer.program.test_storageless import IDS, MODELS, WITH_VALUES, Made, functional


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 256 << 10)
    monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 0)
    monkeypatch.setattr(pieces, "LEAST_MAPPED_BYTES", 1 << 20)


def checkpoint_of(model: Any, folder: Path, step: int = 7) -> Checkpoint:
    """A checkpoint of the model's values."""
    specs = variables.specs(model)
    values = zip(specs, model.variables, strict=True)
    coming = [[Piece(key, variable.numpy())] for key, variable in values]
    meta = Meta(step, 0, {}, "SGD", specs)
    into = checkpoint_write.temporary_of(folder, meta.step)
    return read.described(checkpoint_write.write(meta, coming, into, check_owner=lambda: None))


def randomly(model: Any, seed: int) -> None:
    chance = np.random.default_rng(seed)
    for variable in model.variables:
        value = chance.normal(size=variable.shape)
        variable.assign(value.astype(variable.dtype.as_numpy_dtype))


def shared(model: Any) -> list[Any]:
    return [v for v in model.variables if isinstance(v, StoragelessVariable) and v._shares]


@pytest.mark.parametrize("name", sliced(list(MODELS), 5))
def test_a_model_of_pages_computes_and_is_exported_as_any_other(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, (dtype, shape) = MODELS[name]
    program, ctx = Made(make, dtype, shape), context(tmp_path)
    features, _ = batch_specs(program, ctx)
    plain = build_model(program, ctx, features)
    given = tf.constant("a", shape=(3, 2)) if dtype is tf.string else tf.ones((3, *shape), dtype)
    model: Any = None
    for step in (1, 2):  # as an evaluator fills it again
        randomly(plain, step)
        saved = checkpoint_of(plain, tmp_path / "checkpoints", step)

        def fill(built: Any, saved: Checkpoint = saved) -> None:
            fill_model(built, variables.specs(plain), saved)

        if model is None:
            model = build_filled(program, ctx, features, fill, "float32")
        else:
            fill(model)
        expected = plain(given, training=False).numpy()
        np.testing.assert_array_equal(model(given, training=False), expected)
        for one, other in zip(model.variables, plain.variables, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
    if name not in WITH_VALUES:
        assert shared(model)
        assert "of the model are pages of the checkpoint's files" in capsys.readouterr().err
    np.testing.assert_allclose(
        tf.function(model)(given, training=False), expected, rtol=1e-5, atol=1e-6
    )

    path = export(
        model, features, About("a", "1", 1), tmp_path / "export", check_owner=lambda: None
    )
    served = tf.saved_model.load(str(path)).signatures["serving_default"]
    (found,) = served(**{next(iter(served.structured_input_signature[1])): given}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad"])
def test_a_model_of_pages_can_be_trained_on(tmp_path: Path, optimizer: str) -> None:
    """As `after_train` may do: with the same result, and the checkpoint stays as it is."""
    program, ctx = Made(functional, *IDS), context(tmp_path)
    features, _ = batch_specs(program, ctx)
    plain = build_model(program, ctx, features)
    saved = checkpoint_of(plain, tmp_path)
    before = {file.name: file.read_bytes() for file in saved.path.iterdir()}
    model = build_filled(
        program,
        ctx,
        features,
        lambda built: fill_model(built, variables.specs(plain), saved),
        "float32",
    )
    assert shared(model)
    ids = np.random.default_rng(1).integers(0, 5000, (64, 2))
    for one in (plain, model):
        tf_keras.utils.set_random_seed(1)
        one.compile(optimizer, tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        one.fit(ids, np.arange(64) % 2, batch_size=16, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(
        model.predict(ids, verbose=0), plain.predict(ids, verbose=0), rtol=1e-4, atol=1e-5
    )
    for one, other in zip(model.variables, plain.variables, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
    assert before == {file.name: file.read_bytes() for file in saved.path.iterdir()}


def test_a_checkpoint_of_before_fills_a_model_that_was_of_pages(tmp_path: Path) -> None:
    """A run whose earlier checkpoints an older trainer wrote; or a tensor that was small then."""
    program, ctx = Made(functional, *IDS), context(tmp_path)
    features, _ = batch_specs(program, ctx)
    plain = build_model(program, ctx, features)
    specs = variables.specs(plain)
    of_pages = checkpoint_of(plain, tmp_path / "new")
    model = build_filled(
        program, ctx, features, lambda built: fill_model(built, specs, of_pages), "float32"
    )
    randomly(plain, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "SMALL_STATE_BYTES", 1 << 30)
        of_before = checkpoint_of(plain, tmp_path / "old")
    assert of_pages.meta.files and not of_before.meta.files
    fill_model(model, specs, of_before)
    ids = tf.constant([[1, 2], [3, 4]])
    np.testing.assert_array_equal(model(ids), plain(ids))
    fill_model(model, specs, of_pages)
    assert not np.array_equal(model(ids), plain(ids))


MEMORY = """
import sys
from pathlib import Path
import numpy as np, tensorflow as tf, tf_keras
from tf_cluster_trainer.checkpoint import read, variables
from tf_cluster_trainer.checkpoint import write
from tf_cluster_trainer.checkpoint.export import About, export
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Meta, TensorSpec
from tf_cluster_trainer.program.fill import fill_model
from tf_cluster_trainer.program.trial import batch_specs, build_filled
from tests.support.trainings import context
from tests.trainer.program.test_storageless import Made, IDS

def model():
    ids = tf_keras.layers.Input((2,), dtype=tf.int64)
    seen = tf_keras.layers.Flatten()(tf_keras.layers.Embedding(ROWS, 64)(ids))
    return tf_keras.Model(ids, tf_keras.layers.Dense(2)(seen))

def own():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("RssAnon"))

told = []
folder = Path(sys.argv[1])
for ROWS in (1_200_000, 2_400_000):  # 293 and 586 MiB: both are read a piece at a time
    specs = {
        "model/embedding/embeddings": TensorSpec((ROWS, 64), "float32"),
        "model/dense/kernel": TensorSpec((128, 2), "float32"),
        "model/dense/bias": TensorSpec((2,), "float32"),
    }
    def coming():
        step = 20_000
        for first in range(0, ROWS, step):
            yield [Piece("model/embedding/embeddings", np.ones((step, 64), np.float32), first)]
        yield [Piece("model/dense/kernel", np.ones((128, 2), np.float32))]
        yield [Piece("model/dense/bias", np.ones(2, np.float32))]
    meta = Meta(1, 0, {}, "SGD", specs)
    into = write.temporary_of(folder / str(ROWS), meta.step)
    saved = read.described(write.write(meta, coming(), into, check_owner=lambda: 0))
    program, ctx = Made(model, *IDS), context(folder)
    features, _ = batch_specs(program, ctx)
    filled = build_filled(
        program, ctx, features, lambda built: fill_model(built, specs, saved), "float32"
    )
    seen = [own()]
    ids = np.random.default_rng(0).integers(0, ROWS, (20_000, 2))
    assert (filled.predict(ids, batch_size=500, verbose=0) == 129).all()
    seen.append(own())
    assert (filled(ids[:500]).numpy() == 129).all()
    seen.append(own())
    export(filled, features, About("a", "1", 1), folder / f"export-{ROWS}", check_owner=lambda: 0)
    seen.append(own())
    told.append(max(seen))
print(*told)
"""


@in_turn(1, of=2)
def test_a_model_of_pages_takes_no_memory_to_use_and_to_export(tmp_path: Path) -> None:
    small, large = numbers_of(MEMORY, tmp_path)
    assert large - small < 100, f"{small} and {large} MiB at the peak"
