"""Has small tensors of a step that go from one task to another go together.

TensorFlow sends each tensor by a call of its own, and a model of many tables sends many small ones:
the ids, rows and gradients of 26 tables are a hundred in a step. Those that can be ready for the
same task at the same time are joined to one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.strategies.step.compiling import never_compiled

MOST_BYTES = 64 << 10
"""A larger tensor goes alone: its copies would cost more than its call."""
MESSAGE_BYTES, MESSAGES = 1 << 20, 8
"""The most of one message, and the most messages of a way. The rest go alone, as the ps has to hold
what it joins."""
_DTYPES = (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64)
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})
_CALLS = frozenset(
    f"{kind}{call}" for kind in ("", "Stateless") for call in ("If", "While", "Case")
) | {"PartitionedCall", "StatefulPartitionedCall"}
_ROWS_OF = {
    "Cast": 0,
    "DynamicPartition": 0,
    "FloorDiv": 0,
    "FloorMod": 0,
    "GatherV2": 1,
    "Identity": 0,
    "Mul": 0,
    "Neg": 0,
    "Reshape": 0,
    "ResourceGather": 1,
    "Shape": 0,
    "StridedSlice": 0,
    "Sub": 0,
    "UnsortedSegmentSum": 2,
}
"""Which input of an operation says how many rows it has, on the way from a table's ids."""


@contextmanager
def shared_sends(rows: int) -> Iterator[None]:
    """Inside this context the current graph gets a step; what it sends is joined at the end.

    `rows`: examples of a batch.
    """
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    yield
    operations = graph.get_operations()[before:]
    devices = _devices(operations)
    tasks = {name: _task(device) for name, device in devices.items()}
    for way, tensors in _ways(operations, tasks, rows).items():
        for some in _messages(tensors):
            if len(some) > 1:
                _join(some, way.target, tasks, devices)


@dataclass(frozen=True)
class _Way:
    """From which task to which other; `after` so many ways before (see _after)."""

    source: str
    target: str
    after: int
    dtype: Any


def _ways(
    operations: Sequence[Any], tasks: Mapping[str, str], rows: int
) -> dict[_Way, list[tuple[Any, int]]]:
    """The small tensors of each way from or to a ps, with their bytes."""
    after = _after(operations, tasks)
    found: dict[_Way, list[tuple[Any, int]]] = defaultdict(list)
    for one in operations:
        source = tasks[one.name]
        for tensor in one.outputs:
            size = _bytes(tensor, rows) if tensor.dtype in _DTYPES else 0
            if not 0 < size <= MOST_BYTES:
                continue
            targets = {tasks.get(user.name, source) for user in tensor.consumers()} - {source}
            for target in sorted(targets):
                if "/job:ps" in source + target:
                    way = _Way(source, target, after[one.name], tensor.dtype)
                    found[way].append((tensor, size))
    return found


def _after(operations: Sequence[Any], tasks: Mapping[str, str]) -> dict[str, int]:
    """How many ways between tasks lie one after another before each operation.

    No operation waits for one with more ways before it, so tensors of as many can wait for each
    other. Operations on one resource count as waiting in the order they were made in, unless all
    only read, and so do those with other effects: TensorFlow has them wait when it ends a function.
    """
    found: dict[str, int] = {}
    changed: dict[Any, int] = defaultdict(int)
    touched: dict[Any, int] = defaultdict(int)
    for one in operations:
        before = [found.get(other.name, 0) for other in one.control_inputs]
        for tensor in one.inputs:
            name = tensor.op.name
            if name in found:
                before.append(found[name] + (tasks[name] != tasks[one.name]))
        keys: list[Any] = [id(_handle(at)) for at in one.inputs if at.dtype == tf.resource]
        changes = one.type not in _READS and (one._is_stateful or bool(keys))
        if one._is_stateful and (not keys or one.type in _CALLS):
            keys.append("other effects")
        before += [(touched if changes else changed)[key] for key in keys]
        found[one.name] = most = max(before, default=0)
        for key in keys:
            touched[key] = max(touched[key], most)
            if changes:
                changed[key] = max(changed[key], most)
    return found


def _messages(tensors: Sequence[tuple[Any, int]]) -> Iterator[list[Any]]:
    """Those that go together, of tensors with their bytes."""
    some: list[Any] = []
    room, messages = MESSAGE_BYTES, 1
    for tensor, size in tensors:
        if size > room:
            if messages == MESSAGES:
                break
            yield some
            some, room, messages = [], MESSAGE_BYTES, messages + 1
        some.append(tensor)
        room -= size
    yield some


def _join(
    tensors: Sequence[Any], target: str, tasks: Mapping[str, str], devices: Mapping[str, str]
) -> None:
    """Have the users of these tensors in one task take them from one that is sent."""
    users = {
        user.name: user
        for tensor in tensors
        for user in tensor.consumers()
        if tasks.get(user.name) == target
    }
    with never_compiled():
        with tf.device(devices[tensors[0].op.name]):
            joined = _joined(tensors)
        with tf.device(devices[next(iter(users))]):
            parts = _parted(joined, tensors)
    instead = {id(tensor): part for tensor, part in zip(tensors, parts, strict=True)}
    for user in users.values():
        for at, given in enumerate(list(user.inputs)):
            if id(given) in instead:
                user._update_input(at, instead[id(given)])


def _joined(tensors: Sequence[Any]) -> Any:
    """A vector of all their elements, after their sizes if those are not known."""
    flat = _reshaped(tensors, [(-1,)] * len(tensors))
    if _all_known(tensors):
        return tf.concat(flat, 0)
    dtype = tensors[0].dtype
    sizes = tf.stack([tf.size(tensor, _of_sizes(dtype)) for tensor in tensors])
    return tf.concat([tf.reshape(tf.bitcast(sizes, dtype), [-1]), *flat], 0)


def _parted(joined: Any, tensors: Sequence[Any]) -> list[Any]:
    """The tensors again."""
    if _all_known(tensors):
        sizes: Any = [tensor.shape.num_elements() for tensor in tensors]
    else:
        dtype, of_sizes = tensors[0].dtype, _of_sizes(tensors[0].dtype)
        each = of_sizes.size // dtype.size
        head, joined = tf.split(joined, [each * len(tensors), -1])
        head = tf.reshape(head, [len(tensors), each] if each > 1 else [len(tensors)])
        sizes = tf.bitcast(head, of_sizes)
    shapes = [tuple(-1 if size is None else size for size in at.shape) for at in tensors]
    return _reshaped(tf.split(joined, sizes, num=len(tensors)), shapes)


def _reshaped(tensors: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Each in its shape. A step of thousands of tensors is traced sooner with few operations."""
    constants = {shape: tf.constant(shape, tf.int32) for shape in set(shapes)}
    return [
        tensor
        if tensor.shape.rank == len(shape) == 1
        else tf.raw_ops.Reshape(tensor=tensor, shape=constants[shape])
        for tensor, shape in zip(tensors, shapes, strict=True)
    ]


def _all_known(tensors: Sequence[Any]) -> bool:
    return all(tensor.shape.is_fully_defined() for tensor in tensors)


def _of_sizes(dtype: Any) -> Any:
    """The type of sizes whose bits one or more elements of this type can hold."""
    return tf.int64 if dtype.size == 8 else tf.int32


def _bytes(tensor: Any, rows: int) -> int:
    """The most of a tensor with at most one unknown size; else 0."""
    if tensor.shape.rank is None or list(tensor.shape).count(None) > 1:
        return 0
    most = 1 if tensor.shape.is_fully_defined() else _most_rows(tensor, rows)
    sizes = (most if size is None else size for size in tensor.shape)
    return int(tensor.dtype.size) * math.prod(sizes)


def _most_rows(tensor: Any, rows: int) -> int:
    """As many as ids were given where it comes from a look-up; else as many as examples."""
    last = tensor
    while tensor.op.type in _ROWS_OF:
        last, tensor = tensor, tensor.op.inputs[_ROWS_OF[tensor.op.type]]
    inner = 1
    if tensor.op.type == "Unique":
        tensor = tensor.op.inputs[0]
        tensor = tensor.op.inputs[0] if tensor.op.type == "Reshape" else tensor
    elif last.op.type == "Reshape" and last.shape.rank is not None:
        inner = max(1, math.prod(size or 1 for size in last.shape[1:]))
    else:
        return rows
    if not tensor.shape.rank:
        return rows
    return math.prod(rows if size is None else size for size in tensor.shape) // inner


def _handle(resource: Any) -> Any:
    """A resource as it was made, or as its function got it."""
    while resource.op.type == "Identity":
        resource = resource.op.inputs[0]
    return resource


def _devices(operations: Sequence[Any]) -> dict[str, str]:
    """The device of each operation: its variable's, which TensorFlow prefers to that it is given.

    It is empty where neither is known: who runs the graph is there.
    """
    outside: dict[Any, dict[int, Any]] = {}

    def home(resource: Any) -> str:
        while (graph := getattr(resource, "graph", None)) is not None:
            resource = _handle(resource)
            if graph not in outside:
                captures = getattr(graph, "captures", ())
                outside[graph] = {id(inner): outer for outer, inner in captures}
            if id(resource) not in outside[graph]:
                break
            resource = outside[graph][id(resource)]
        return str(resource.device)

    def device(operation: Any) -> str:
        if operation.type not in _CALLS:
            for tensor in operation.inputs:
                if tensor.dtype == tf.resource:
                    return home(tensor) or str(operation.device)
        return str(operation.device)

    return {one.name: device(one) for one in operations}


def _task(device: str) -> str:
    spec = tf.DeviceSpec.from_string(device)
    return f"/job:{spec.job}/task:{spec.task}" if spec.job else ""
