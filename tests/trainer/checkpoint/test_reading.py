"""A state in pieces: read from any number of parts, and assigned to any other."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import pieces, read, variables, write
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.reading import VariableState, whole_pieces
from tf_cluster_trainer.checkpoint.record import Meta, TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor

MOST = 3000  # bytes of a piece
SHAPES: dict[str, tuple[int, ...]] = {
    "model/table": (1001, 5),
    "model/bias": (7,),
    "model/long": (4000,),
    "model/scalar": (),
    "model/none": (0, 3),
    "model/cube": (60, 3, 11),
}
SLOTS = {"model/table": ("m", "v"), "model/long": ("m", "v"), "model/bias": ("m", "v")}
KINDS = {"model/long": "int64", "model/cube": "bfloat16"}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", MOST)
    monkeypatch.setattr(pieces, "LEAST_BYTES", 100)


def state_of(tensors: dict[str, Any], cuts: int) -> tuple[StoredTensor, ...]:
    """Variables of these values, the large ones in so many parts of unequal rows."""
    found = {}
    for key, value in tensors.items():
        some = [value] if value.ndim == 0 or len(value) < 50 else np.array_split(value, cuts)
        parts = tuple(tf.Variable(one, trainable=False) for one in some)
        found[key] = StoredTensor(
            key,
            TensorSpec(value.shape, tf.as_dtype(value.dtype).name),
            parts,
            slot_of="model/" + key.split("/", 2)[2] if key.startswith("optimizer/") else "",
        )
    return tuple(found.values())


def drawn(seed: int) -> dict[str, Any]:
    """Values of the model, then those of its slots, as a checkpoint has them."""
    chance = np.random.default_rng(seed)
    shapes = {
        **SHAPES,
        **{
            f"optimizer/{slot}/{key.removeprefix('model/')}": SHAPES[key]
            for key, slots in SLOTS.items()
            for slot in slots
        },
    }
    return {
        key: np.asarray(chance.integers(0, 200, shape)).astype(
            tf.as_dtype(KINDS.get("model/" + key.split("/")[-1], "float32")).as_numpy_dtype
        )
        for key, shape in shapes.items()
    }


def whole(found: list[Piece], tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors of the pieces; every row is in one of them."""
    arrays = {key: np.zeros_like(value) for key, value in tensors.items()}
    rows = dict.fromkeys(tensors, 0)
    for piece in found:
        first = piece.first or 0
        count = len(piece.value) if piece.value.ndim else 1
        if piece.value.ndim:
            arrays[piece.key][first : first + count] = piece.value
        else:
            arrays[piece.key] = piece.value
        rows[piece.key] += count
    assert rows == {key: len(v) if v.ndim else 1 for key, v in tensors.items()}
    return arrays


@pytest.mark.parametrize("cuts", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_in_pieces_is_what_the_variables_hold(cuts: int, seed: int) -> None:
    tensors = drawn(seed)
    state = VariableState(state_of(tensors, cuts), "CPU:0")
    found = list(state.pieces())
    arrays = whole(list(itertools.chain.from_iterable(found)), tensors)
    for key, value in tensors.items():
        np.testing.assert_array_equal(arrays[key], value)
    assert {key: spec.shape for key, spec in state.specs.items()} == {
        key: value.shape for key, value in tensors.items()
    }
    # Little at once; more only where one tensor is more and may not be cut.
    assert max(sum(piece.value.nbytes for piece in some) for some in found) <= MOST
    # A table's rows come with those of its slots.
    for some in found:
        keys = [piece.key for piece in some if piece.first is not None]
        if "model/table" in keys:
            assert keys == ["model/table", "optimizer/m/table", "optimizer/v/table"]
            assert len({(piece.first, len(piece.value)) for piece in some}) == 1


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 7), (7, 2), (3, 3)])
def test_pieces_of_any_number_of_parts_fill_any_other(before: int, after: int) -> None:
    tensors = drawn(5)
    target = state_of({key: np.zeros_like(value) for key, value in tensors.items()}, after)
    coming = VariableState(state_of(tensors, before), "CPU:0").pieces()
    variables.assign(target, itertools.chain.from_iterable(coming))
    for one in target:
        values = [part.numpy() for part in one.parts]
        array = values[0] if len(values) == 1 else np.concatenate(values)
        np.testing.assert_array_equal(array, tensors[one.key])


def test_a_variable_that_was_filled_by_rows_is_read_without_a_copy() -> None:
    """TensorFlow copies at each read what rows were ever assigned to, until it is told."""
    variable = tf.Variable(tf.zeros([1000, 8]))
    stored = (StoredTensor("model/w", TensorSpec((1000, 8), "float32"), (variable,)),)
    rows = np.ones((500, 8), np.float32)
    variables.assign(stored, [Piece("model/w", rows, 0), Piece("model/w", 2 * rows, 500)])

    # Both are held, so that a copy of one can't be where the other was.
    first, second = (
        np.asarray(tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=tf.float32))
        for _ in range(2)
    )
    assert np.shares_memory(first, second)
    assert variable.numpy().sum() == 500 * 8 * 3


@pytest.mark.parametrize("in_session", [False, True])
def test_a_string_keeps_the_zeros_at_its_end(tmp_path: Path, in_session: bool) -> None:
    spec, word = TensorSpec((), "string"), b"ab\0\0"
    stored = (StoredTensor("model/word", spec, (tf.Variable(word, trainable=False),)),)
    if in_session:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            found = whole_pieces(stored, [[session.run(tf.constant(word))]])
    else:
        ((*found,),) = VariableState(stored, "CPU:0").pieces()
    meta = Meta(7, 56, {"0": 7}, "SGD", {"model/word": spec})
    into = write.temporary_of(tmp_path, meta.step)
    path = write.write(meta, [found], into, check_owner=lambda: None)
    assert read.value(read.read(path), "model/word").item() == word


@pytest.mark.parametrize("dtype", pieces._CUT)
def test_rows_of_each_type_that_is_cut_are_read_and_assigned(dtype: str) -> None:
    chance = np.random.default_rng(2)
    drawn_here = chance.integers(0, 2, (1000, 9)).astype(tf.as_dtype(dtype).as_numpy_dtype)
    state = VariableState(state_of({"model/w": drawn_here}, 2), "CPU:0")
    found = list(itertools.chain.from_iterable(state.pieces()))
    assert len(found) > 2
    target = state_of({"model/w": np.zeros_like(drawn_here)}, 3)
    variables.assign(target, found)
    np.testing.assert_array_equal(
        np.concatenate([part.numpy() for part in target[0].parts]), drawn_here
    )


def test_only_what_is_large_is_read_by_rows() -> None:
    state = VariableState(state_of(drawn(1), 2), "CPU:0")
    by_rows = {piece.key for some in state.pieces() for piece in some if piece.first is not None}
    assert by_rows == {
        *("model/table", "optimizer/m/table", "optimizer/v/table"),
        *("model/long", "optimizer/m/long", "optimizer/v/long"),
        "model/cube",
    }
    undivided = VariableState(state_of(drawn(1), 2), "CPU:0", by_rows=False)
    assert all(piece.first is None for some in undivided.pieces() for piece in some)
