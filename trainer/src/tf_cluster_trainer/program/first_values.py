"""The values of a new model, a piece at a time, so that no process holds all of a large one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import (
    Piece,
    can_be_cut,
    cut,
    is_small,
    piece_bytes,
    size,
    slices,
    total,
)
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.initializers import is_of_keras, some_rows
from tf_cluster_trainer.program.storageless import StoragelessVariable, inner
from tf_cluster_trainer.program.trial import build_model, build_without_values


def first_values(
    program: Program, ctx: Context, features: Any, full: Mapping[str, TensorSpec]
) -> Iterator[Piece]:
    """Make the model on this process' CPU; give the values of its variables.

    `full` are their specs, by key. A large model is built without large values, if that can be.
    Each such variable's initializer then makes some rows at a time, as it does for the parts of a
    partitioned variable, or else the whole variable. They are the same each time. Raises
    ProgramError.
    """
    whole, model = total(full.values()), None
    with tf.device("CPU:0"):
        if not is_small(whole):
            model = build_without_values(program, ctx, features)[0]
        if model is None:
            model = build_model(program, ctx, features)
    for (key, spec), variable in zip(full.items(), model.variables, strict=True):
        empty = inner(variable)
        if empty is not None and not empty.has_own_value:
            pieces = _made(empty, key, spec, piece_bytes(whole))
        else:
            pieces = iter([Piece(key, np.asarray(variable.read_value()))])
        for piece in pieces:
            yield from cut(piece, spec, piece_bytes(whole))


def _made(variable: StoragelessVariable, key: str, spec: TensorSpec, most: int) -> Iterator[Piece]:
    """What its initializer makes: if that is more than `most` bytes, some rows at a time."""
    if size(spec) > most and can_be_cut(spec) and is_of_keras(variable.make_value):
        for first, rows in slices(0, spec.shape[0], size(spec) // spec.shape[0], most):
            with tf.device("CPU:0"):
                part = some_rows(variable.make_value, spec.shape, first, rows)
            if part is None:
                break
            yield Piece(key, _array(part, variable), first)
        else:
            return
    with tf.device("CPU:0"):
        value = _array(variable.make_value(), variable)
    yield Piece(key, value)


def _array(value: Any, variable: StoragelessVariable) -> Any:
    return np.asarray(tf.convert_to_tensor(value, variable.dtype))
