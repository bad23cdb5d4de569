"""Maps each tensor of a checkpoint to variables of a model and its optimizer.

With parameter servers a large variable is split by rows into `<name>/part_0`, `<name>/part_1`, ….
The plain copy of the model has the full ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import TensorSpec

ITERATIONS = "optimizer/iterations"


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a checkpoint and the variables that hold it, in the order of its rows.

    `slot_of` is the key of the variable whose optimizer slot this is; "" if it is no slot.
    """

    key: str
    spec: TensorSpec
    parts: tuple[Any, ...]
    slot_of: str = ""


def spec_of(variable: Any) -> TensorSpec:
    """The spec of the tensor that it holds."""
    return TensorSpec(tuple(variable.shape.as_list()), variable.dtype.name)


def specs(plain_model: Any) -> dict[str, TensorSpec]:
    """The specs of a checkpoint's tensors for this model, by key, in the model's order."""
    return {
        key: spec_of(variable)
        for key, variable in zip(_keys(plain_model.variables), plain_model.variables, strict=True)
    }


def of_model(full: Mapping[str, TensorSpec], built: Any) -> tuple[StoredTensor, ...]:
    """Pair each full tensor (from `specs`) with the variables that hold it in the built model."""
    rest = list(built.variables)
    found: list[StoredTensor] = []
    for key, spec in full.items():
        parts = [rest.pop(0)]
        if tuple(parts[0].shape.as_list()) != spec.shape:
            while sum(part.shape[0] for part in parts) < spec.shape[0]:
                parts.append(rest.pop(0))
        found.append(StoredTensor(key, spec, tuple(parts)))
    if rest:
        raise AssertionError(f"build_model made other variables under the strategy: {rest[0].name}")
    return tuple(found)


def of_optimizer(
    optimizer: Any, model: Iterable[StoredTensor], built: Any
) -> tuple[StoredTensor, ...]:
    """The optimizer's iteration count, and its slots of the trained variables."""
    iterations = optimizer.iterations
    found = [
        StoredTensor(ITERATIONS, TensorSpec((), iterations.dtype.name), (iterations,)),
    ]
    trained = {id(variable) for variable in built.trainable_variables}
    for stored in model:
        if not all(id(part) in trained for part in stored.parts):
            continue
        for slot in optimizer.get_slot_names():
            parts = tuple(optimizer.get_slot(part, slot) for part in stored.parts)
            key = f"optimizer/{slot}/{stored.key.removeprefix('model/')}"
            found.append(StoredTensor(key, stored.spec, parts, slot_of=stored.key))
    return tuple(found)


def assign(stored: Iterable[StoredTensor], pieces: Iterable[Piece]) -> None:
    """Assign the pieces to the variables that hold their rows, wherever these are."""
    by_key = {one.key: one for one in stored}
    by_rows: dict[int, Any] = {}
    for piece in pieces:
        one = by_key[piece.key]
        for at, start, value in rows_of(one, piece):
            part = one.parts[at]
            if not part.shape.rank or len(value) == part.shape[0]:
                part.assign(value)
                continue
            if id(part) not in by_rows and not part.is_initialized():
                part.assign(tf.zeros(part.shape, part.dtype))
            by_rows[id(part)] = part
            with tf.device(part.device):
                indices = tf.range(start, start + len(value), dtype=tf.int64)
                put_rows(part, indices, value)
    for part in by_rows.values():
        with tf.device(part.device):
            end_rows(part)


def put_rows(part: Any, indices: Any, value: Any) -> Any:
    """An operation that assigns rows of a variable, beside it."""
    return tf.raw_ops.ResourceScatterUpdate(resource=part.handle, indices=indices, updates=value)


def end_rows(part: Any) -> Any:
    """An operation after the last `put_rows`: without it, each read of the variable copies it."""
    return tf.raw_ops.DisableCopyOnRead(resource=part.handle)


def in_parts(stored: StoredTensor, first: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Where the parts have these rows of the tensor: which part, its row, and first row and end."""
    begins = 0  # the tensor's row where the part begins
    for at, part in enumerate(stored.parts):
        low, high = max(first, begins), min(end, begins + part.shape[0])
        if low < high:
            yield at, low - begins, low, high
        begins += part.shape[0]


def rows_of(stored: StoredTensor, piece: Piece) -> Iterator[tuple[int, int, Any]]:
    """Each part that has rows of the piece: which, its first such row, and their values."""
    first = piece.first or 0
    if len(stored.parts) == 1:
        yield 0, first, piece.value
        return
    for at, start, low, high in in_parts(stored, first, first + len(piece.value)):
        yield at, start, piece.value[low - first : high - first]


def _keys(variables: Iterable[Any]) -> list[str]:
    """Unique names: the second variable of a name gets `#2`."""
    seen: dict[str, int] = {}
    keys = []
    for variable in variables:
        name = variable.name.partition(":")[0]
        seen[name] = seen.get(name, 0) + 1
        keys.append(f"model/{name}" + (f"#{seen[name]}" if seen[name] > 1 else ""))
    return keys
