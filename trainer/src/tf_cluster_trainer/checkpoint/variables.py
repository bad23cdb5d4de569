"""Maps each tensor of a checkpoint to variables of a model and its optimizer.

With parameter servers a large variable is split by rows into `<name>/part_0`, `<name>/part_1`, ….
The plain copy of the model has the full ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint.record import TensorSpec

ITERATIONS = "optimizer/iterations"
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a checkpoint and the variables that hold it, in the order of its rows.

    `slot_of` is the key of the variable whose optimizer slot this is; "" if it is no slot.
    """

    key: str
    spec: TensorSpec
    parts: tuple[Any, ...]
    slot_of: str = ""


def specs(plain_model: Any) -> dict[str, TensorSpec]:
    """The specs of a checkpoint's tensors for this model, by key, in the model's order."""
    return {
        key: TensorSpec(tuple(variable.shape.as_list()), variable.dtype.name)
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


def assign(stored: Iterable[StoredTensor], tensors: Mapping[str, Any]) -> None:
    """Assign the tensors to the variables."""
    for one in stored:
        value = tensors[one.key]
        start = 0
        for part in one.parts:
            if len(one.parts) == 1:
                part.assign(value)
            else:
                part.assign(value[start : start + part.shape[0]])
                start += part.shape[0]


def read(stored: Iterable[StoredTensor]) -> list[list[Any]]:
    """Add operations to the current graph that read each tensor's parts where they are.

    The slots of a part are read one after the other, in the optimizer's order. Other workers may
    update them meanwhile; in this order LazyAdam's promise about m and v also holds for the copy.
    """
    last: dict[tuple[str, int], Any] = {}
    found = []
    for one in stored:
        values = []
        for at, part in enumerate(one.parts):
            before = last.get((one.slot_of, at)) if one.slot_of else None
            with (
                tf.device(part.device),
                tf.control_dependencies([] if before is None else [before]),
            ):
                # Like `read_value`, without its copy to the caller's device.
                value = tf.raw_ops.ReadVariableOp(resource=part.handle, dtype=part.dtype)
            last[one.slot_of, at] = value
            values.append(value)
        found.append(values)
    return found


class Copy:
    """Reads all tensors into this process' memory, some at a time; remote reads run in parallel."""

    def __init__(self, stored: Iterable[StoredTensor], device: str) -> None:
        self._device = device
        self._stored = tuple(stored)
        self._reads = [
            (group, tf.function(partial(self._values, group))) for group in groups(self._stored)
        ]

    def __call__(self) -> dict[str, Any]:
        """The full tensors as NumPy arrays, by key. No one may write to them."""
        found: dict[str, Any] = {}
        for group, values in self._reads:
            for one, parts in zip(group, values(), strict=True):
                # Not `numpy()`, which copies.
                arrays = [np.asarray(part) for part in parts]
                found[one.key] = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return {one.key: found[one.key] for one in self._stored}

    def _values(self, group: Iterable[StoredTensor]) -> list[list[Any]]:
        with tf.device(self._device):
            return [[tf.identity(part) for part in parts] for parts in read(group)]


def groups(stored: Iterable[StoredTensor]) -> list[list[StoredTensor]]:
    """What to read together, up to 64 MiB or one tensor; one group after the other.

    A variable's slots follow it at once, in the optimizer's order: see `read`.
    """
    families: dict[str, list[StoredTensor]] = {}
    for one in stored:
        families.setdefault(one.slot_of or one.key, []).append(one)
    found: list[list[StoredTensor]] = []
    room = 0
    for one in itertools.chain.from_iterable(families.values()):
        if not found or size(one.spec) > room:
            found.append([])
            room = _GROUP_BYTES
        found[-1].append(one)
        room -= size(one.spec)
    return found


def size(spec: TensorSpec) -> int:
    """Bytes of a tensor; 0 of one of strings, whose bytes are not known."""
    return math.prod(spec.shape) * int(tf.as_dtype(spec.dtype).size or 0)


def _keys(variables: Iterable[Any]) -> list[str]:
    """Unique names: the second variable of a name gets `#2`."""
    seen: dict[str, int] = {}
    keys = []
    for variable in variables:
        name = variable.name.partition(":")[0]
        seen[name] = seen.get(name, 0) + 1
        keys.append(f"model/{name}" + (f"#{seen[name]}" if seen[name] > 1 else ""))
    return keys
