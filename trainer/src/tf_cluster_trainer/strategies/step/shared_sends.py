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

MOST_BYTES = 64 << 10
"""A larger tensor goes alone: its copies would cost more than its call."""
MOST_JOINED_BYTES = 1 << 20
"""Of one message."""
_DTYPES = (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64)
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})
_CALLS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile"}
)


@contextmanager
def shared_sends(rows: int) -> Iterator[None]:
    """Inside this context the current graph gets a step; what it sends is joined at the end.

    `rows` is what an unknown size is taken for: as many examples as a batch has.
    """
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    yield
    operations = graph.get_operations()[before:]
    devices = _devices(operations)
    tasks = {name: _task(device) for name, device in devices.items()}
    for way, tensors in _ways(operations, tasks, rows).items():
        for some in _messages(tensors, rows):
            if len(some) > 1:
                _join(some, way.target, tasks, devices)


@dataclass(frozen=True)
class _Way:
    """From which task to which other; `after` so many ways before (see _after)."""

    source: str
    target: str
    after: int
    dtype: Any


def _ways(operations: Sequence[Any], tasks: Mapping[str, str], rows: int) -> dict[_Way, list[Any]]:
    """The small tensors of each way from or to a ps."""
    after = _after(operations, tasks)
    found: dict[_Way, list[Any]] = defaultdict(list)
    for one in operations:
        source = tasks[one.name]
        for tensor in one.outputs:
            if tensor.dtype not in _DTYPES or not 0 < _bytes(tensor, rows) <= MOST_BYTES:
                continue
            targets = {tasks.get(user.name, source) for user in tensor.consumers()} - {source}
            for target in sorted(targets):
                if "/job:ps" in source + target:
                    found[_Way(source, target, after[one.name], tensor.dtype)].append(tensor)
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
        keys: list[Any] = [id(tensor) for tensor in one.inputs if tensor.dtype == tf.resource]
        changes = one._is_stateful and one.type not in _READS
        if changes and (not keys or one.type in _CALLS):
            keys.append("other effects")
        before += [(touched if changes else changed)[key] for key in keys]
        found[one.name] = most = max(before, default=0)
        for key in keys:
            touched[key] = max(touched[key], most)
            if changes:
                changed[key] = max(changed[key], most)
    return found


def _messages(tensors: Sequence[Any], rows: int) -> Iterator[list[Any]]:
    """The tensors, so many together as one message may hold."""
    some: list[Any] = []
    room = MOST_JOINED_BYTES
    for tensor in tensors:
        size = _bytes(tensor, rows)
        if size > room:
            yield some
            some, room = [], MOST_JOINED_BYTES
        some.append(tensor)
        room -= size
    yield some


def _join(
    tensors: Sequence[Any], target: str, tasks: Mapping[str, str], devices: Mapping[str, str]
) -> None:
    """Have the users of these tensors in one task take them from one that is sent."""
    users = [
        [user for user in tensor.consumers() if tasks.get(user.name) == target]
        for tensor in tensors
    ]
    # XLA would need the sizes before (`train.xla`).
    with tf.xla.experimental.jit_scope(compile_ops=False):
        with tf.device(devices[tensors[0].op.name]):
            joined = _joined(tensors)
        with tf.device(devices[users[0][0].name]):
            parts = _parted(joined, tensors)
    for tensor, part, of_tensor in zip(tensors, parts, users, strict=True):
        for user in of_tensor:
            for at, given in enumerate(user.inputs):
                if given is tensor:
                    user._update_input(at, part)


def _joined(tensors: Sequence[Any]) -> Any:
    """A vector of all their elements, after their sizes if those are not known."""
    flat = [tf.reshape(tensor, [-1]) for tensor in tensors]
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
    shapes = [[-1 if size is None else size for size in tensor.shape] for tensor in tensors]
    return [
        tf.reshape(part, shape)
        for part, shape in zip(tf.split(joined, sizes, num=len(tensors)), shapes, strict=True)
    ]


def _all_known(tensors: Sequence[Any]) -> bool:
    return all(tensor.shape.is_fully_defined() for tensor in tensors)


def _of_sizes(dtype: Any) -> Any:
    """The type of sizes whose bits one or more elements of this type can hold."""
    return tf.int64 if dtype.size == 8 else tf.int32


def _bytes(tensor: Any, rows: int) -> int:
    """Of a tensor with at most one unknown size; else 0."""
    if tensor.shape.rank is None or list(tensor.shape).count(None) > 1:
        return 0
    return int(tensor.dtype.size) * math.prod(
        rows if size is None else size for size in tensor.shape
    )


def _devices(operations: Sequence[Any]) -> dict[str, str]:
    """The device of each operation: its variable's, which TensorFlow prefers to that it is given.

    It is empty where neither is known: who runs the graph is there.
    """
    outside: dict[Any, dict[int, Any]] = {}

    def home(resource: Any) -> str:
        while (graph := getattr(resource, "graph", None)) is not None:
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
