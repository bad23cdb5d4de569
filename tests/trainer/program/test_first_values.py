"""The values of a new model, which are made a piece at a time where it is large."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.checkpoint import pieces, variables
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.program.first_values import first_values
from tf_cluster_trainer.program.trial import batch_specs, build_model, run_trial

from tests.slices import in_turn, sliced
from tests.support.processes import numbers_of
from tests.support.trainings import context
from tests.trainer.program.test_storageless import IDS, MODELS, WITH_VALUES, Made

MOST = 300 << 10
layers = tf_keras.layers


@pytest.fixture
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", MOST)
    monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 0)


def values_of(program: Made, folder: Path) -> tuple[dict[str, Any], list[Piece]]:
    """The tensors by key, and the pieces that they came in."""
    ctx = context(folder)
    trial = run_trial(program, ctx)
    found = list(first_values(program, ctx, trial.features, trial.variables))
    whole = {}
    for key, some in itertools.groupby(found, lambda piece: piece.key):
        parts = sorted(some, key=lambda piece: piece.first or 0)
        whole[key] = np.concatenate([p.value for p in parts]) if len(parts) > 1 else parts[0].value
        assert whole[key].shape == trial.variables[key].shape
        assert whole[key].dtype.name == trial.variables[key].dtype
    assert list(whole) == list(trial.variables)
    return whole, found


def plain_values(program: Made, folder: Path) -> dict[str, Any]:
    ctx = context(folder)
    model = build_model(program, ctx, batch_specs(program, ctx)[0])
    return dict(zip(variables.specs(model), (v.numpy() for v in model.variables), strict=True))


@pytest.mark.parametrize("name", sliced(list(MODELS), 5))
def test_a_small_model_has_the_values_of_always(name: str, tmp_path: Path) -> None:
    make, (dtype, shape) = MODELS[name]
    program = Made(make, dtype, shape)
    expected = plain_values(program, tmp_path)
    for key, value in values_of(program, tmp_path)[0].items():
        np.testing.assert_array_equal(value, expected[key])


@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize("name", sliced(list(MODELS), 5))
def test_a_large_model_has_values_as_good_as_those(name: str, tmp_path: Path) -> None:
    make, (dtype, shape) = MODELS[name]
    program = Made(make, dtype, shape)
    found, _ = values_of(program, tmp_path)
    for key, value in values_of(program, tmp_path)[0].items():
        np.testing.assert_array_equal(value, found[key])  # the same each time
    for key, value in plain_values(program, tmp_path).items():
        if name in WITH_VALUES or np.ptp(value) == 0 or key == "model/pretrained/embeddings":
            np.testing.assert_array_equal(found[key], value)
            continue
        # Drawn anew, from the same distribution; small ones are too few to compare.
        near = (0.1 if value.size > 1000 else 0.5) * float(np.ptp(value))
        for measure in (np.mean, np.std):
            got, wanted = float(measure(found[key])), float(measure(value))
            assert got == pytest.approx(wanted, abs=near), key


@pytest.mark.usefixtures("all_is_large")
def test_parts_of_a_table_are_drawn_apart_and_little_is_held(tmp_path: Path) -> None:
    make, (dtype, shape) = MODELS["functional"]
    found, parts = values_of(Made(make, dtype, shape), tmp_path)
    (table,) = (value for key, value in found.items() if key.endswith("/embeddings"))
    assert table.nbytes > 4 * MOST
    assert max(piece.value.nbytes for piece in parts) <= MOST
    assert len(np.unique(table[:, 0])) > 0.99 * len(table)


@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize(
    ("initializer", "shape"),
    [
        (tf_keras.initializers.Orthogonal(), (600, 600)),
        (lambda shape, dtype=None: tf.fill(shape, tf.constant(3.0)), (5000, 64)),
        (tf_keras.initializers.Constant(3.0), (5000, 64)),
        (tf.compat.v1.initializers.random_uniform(2.0, 4.0), (5000, 64)),
        (tf.random_uniform_initializer(2.0, 4.0, seed=1), (5000, 64)),
    ],
    ids=["orthogonal", "own function", "constant", "of TensorFlow 1", "of TensorFlow 2"],
)
def test_an_initializer_that_knows_no_parts_makes_the_whole(
    tmp_path: Path, initializer: Callable[..., Any], shape: tuple[int, int]
) -> None:
    def model() -> Any:
        ids = layers.Input((2,), dtype=tf.int64)
        table = layers.Embedding(*shape, embeddings_initializer=initializer)
        return tf_keras.Model(ids, layers.Dense(2)(layers.Flatten()(table(ids))))

    found, _ = values_of(Made(model, *IDS), tmp_path)
    (table,) = (value for key, value in found.items() if key.endswith("/embeddings"))
    if shape == (600, 600):
        np.testing.assert_allclose(table @ table.T, np.eye(600), atol=1e-4)
    else:
        assert table.mean() == pytest.approx(3.0, abs=0.02)
        assert len(np.unique(table[:, 0])) == 1 or len(np.unique(table[:, 0])) > 0.99 * len(table)


class Normed(tf_keras.Model):  # type: ignore[misc]
    """Its first call, a function of TensorFlow, sets a variable by another one's values."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5000, 64)
        self.norm = self.add_weight("norm", (64,), initializer="ones")
        self.is_set = False

    @tf.function
    def call(self, ids: Any, training: bool = False) -> Any:
        seen = self.table(ids)
        if not self.is_set:
            self.norm.assign(tf.norm(self.table.embeddings, axis=0))
            self.is_set = True
        return tf.reduce_mean(seen / self.norm, 1)


class Landmarks(tf_keras.Model):  # type: ignore[misc]
    """Its first call keeps some rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5000, 64)
        self.rows: Any = None

    def call(self, ids: Any, training: bool = False) -> Any:
        seen = self.table(ids)
        if self.rows is None:
            self.rows = tf.Variable(tf.gather(self.table.embeddings, [1, 2]), name="rows")
        return tf.reduce_mean(seen, 1) + self.rows[0] * self.rows[1]


class Marked(tf_keras.Model):  # type: ignore[misc]
    """Its first call sets a row."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5000, 64)
        self.is_set = False

    def call(self, ids: Any, training: bool = False) -> Any:
        seen = self.table(ids)
        if not self.is_set:
            self.is_set = True
            self.table.embeddings.scatter_nd_update([[0]], tf.fill([1, 64], 7.0))
        return tf.reduce_mean(seen, 1)


class Teacher(tf_keras.Model):  # type: ignore[misc]
    """It has a copy of a layer, made at its first call, as models with a slow copy have."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5000, 64)
        self.learns = layers.Dense(5000, use_bias=False)
        self.slow: Any = None

    def call(self, ids: Any, training: bool = False) -> Any:
        seen = self.learns(tf.reduce_mean(self.table(ids), 1))
        if self.slow is None:
            self.slow = tf.Variable(self.learns.kernel.read_value(), trainable=False, name="slow")
        return seen + tf.matmul(tf.reduce_mean(self.table(ids), 1), self.slow)


@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize("make", [Normed, Landmarks, Marked, Teacher])
def test_a_first_call_that_leaves_more_than_variables_is_made_with_all_values(
    tmp_path: Path, make: Callable[[], Any]
) -> None:
    program = Made(make, *IDS)
    found, _ = values_of(program, tmp_path)
    for key, value in plain_values(program, tmp_path).items():
        np.testing.assert_array_equal(found[key], value)


@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize("name", ["functional", "both ways", "attention"])
def test_a_model_in_mixed_precision_has_them_too(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, (dtype, shape) = MODELS[name]
    before = context

    def mixed(folder: Path) -> Any:
        made = before(folder)
        made.settings.precision = "mixed_bfloat16"
        return made

    monkeypatch.setattr(f"{__name__}.context", mixed)
    found, parts = values_of(Made(make, dtype, shape), tmp_path)
    assert all(value.dtype == np.float32 for value in found.values())
    assert any(piece.first for piece in parts)


MEMORY = """
import resource, sys
from pathlib import Path
import tensorflow as tf, tf_keras
from tf_cluster_trainer.program.first_values import first_values
from tf_cluster_trainer.program.trial import run_trial
from tests.support.trainings import context
from tests.programs.recommender import Likes, Towers, TowersFlags
from tests.trainer.program.test_storageless import Made

peaks = []
for users in (1_000, 3_000_000):
    class Program(Towers):
        def build_model(self, ctx):
            return Likes(TowersFlags(users, 1_000))
        def dataset(self, ctx, input_context):
            features = {"user": tf.zeros([4], tf.int64), "item": tf.zeros([4], tf.int64)}
            return tf.data.Dataset.from_tensor_slices((features, tf.zeros([4, 1])))
    program, ctx = Program(), context(Path(sys.argv[1]))
    trial = run_trial(program, ctx)
    rows = sum(
        len(piece.value)
        for piece in first_values(program, ctx, trial.features, trial.variables)
        if piece.key == "model/likes/users/embeddings"
    )
    assert rows == users
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(*peaks)
"""


@in_turn(0, of=2)
def test_values_of_700_mib_take_the_memory_of_some_pieces(tmp_path: Path) -> None:
    small, large = numbers_of(MEMORY, tmp_path)
    assert large - small < 250, f"{small} and {large} MiB at the peak"
