"""Whether a model's first call leaves anything but variables with their initializers' values.

Many models make their variables in their first call. With zeros in place of large values that call
is right if nothing that stays was computed from them. A traced call tells: a graph shows what it
assigns, and a tensor that stays belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

from tf_cluster_trainer.program.initializers import is_of_keras

Call = Callable[[Any, Any], None]


class _LeavesMoreError(Exception):
    """The call makes a variable of something else than an initializer."""


def leaves_only_variables(build: Callable[[Call], Any], trace: Callable[[Any, Any], Any]) -> bool:
    """Whether the call does; False where that can't be told.

    `build` builds a model to be thrown away and gives it to the call that it is given. `trace`
    traces the model's call and returns the graph.
    """
    graphs: list[Any] = []

    def first_call(model: Any, features: Any) -> None:
        with tf.variable_creator_scope(_without_value):
            graphs.append(trace(model, features))
        trace(model, features)  # fails with a tensor that the first one left

    try:
        model = build(first_call)
    except Exception:
        return False
    held = chain.from_iterable(map(_held, (model, *model.submodules)))
    return not any(map(_assigns, graphs)) and not any(map(_is_of_a_graph, held))


def _without_value(create_next: Callable[..., Any], **given: Any) -> Any:
    if not is_of_keras(given.get("initial_value")):
        raise _LeavesMoreError
    return UninitializedVariable(**given)


def _assigns(graph: Any) -> bool:
    """Whether an operation of the graph, or of a function in it, writes to a variable."""
    graph_def = graph.as_graph_def()
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    return any(node.op.startswith(("Assign", "ResourceScatter")) for node in nodes)


def _held(module: Any) -> Iterator[Any]:
    """What a module's attributes hold, and their lists and mappings."""
    for value in vars(module).values():
        if isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _is_of_a_graph(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and tf.is_symbolic_tensor(value)
