"""Lookup tables that a data set's function makes, at whoever runs the function.

TensorFlow makes a static table once, while the function is traced: it takes the making out of the
graph (`init_scope` in lookup_ops.py). Under parameter servers it is then the chief's table, and
every worker asks the chief for every example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

# What tf.lookup offers has no scope for the making of tables; ParameterServerStrategy uses this
# one.
from tensorflow.python.framework import ops
from tensorflow.python.ops import lookup_ops

# The classes of static tables by name: of tf.lookup, of tf.compat.v1.lookup, and the one that a
# StaticVocabularyTable holds.
STATIC = ("StaticHashTable", "StaticHashTableV1", "HashTable")
# The operations by which a program changes a table of another kind.
_CHANGES = ("LookupTableInsertV2", "LookupTableRemoveV2")


@contextmanager
def of_the_graph() -> Iterator[None]:
    """Let static tables that are made in it belong to the function that is being traced.

    Those of layers too (StringLookup, TextVectorization), which leave the graph by themselves.
    Each call of the function makes and fills tables of its own; they live as long as the data set
    that it gives. Tables of other kinds are made in the graph anyway.
    """
    graph = ops.get_default_graph()

    def make(_: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return _OfTheGraph(graph, *given, **named)

    with ops.resource_creator_scope(STATIC, make):
        yield


@contextmanager
def ending_with_their_use() -> Iterator[None]:
    """Let static tables that are made in it, outside any graph, end when nobody uses them.

    TensorFlow gives each a name, by which it stays for as long as this process.
    """

    def make(
        make_next: Callable[..., Any],
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> Any:
        return make_next(initializer, default_value, name, experimental_is_anonymous=True)

    with ops.resource_creator_scope(STATIC, make):
        yield


def fillings(graph: tf.Graph) -> list[Any]:
    """Of a graph of the 1.x style: what fills and changes its tables, in the program's order.

    To be run one by one. TensorFlow knows which tables have to be filled, not that the size of one
    is asked afterwards, or one filled from another; and of what `insert` gives it knows nothing.
    """
    initializers = graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
    return [
        operation
        for operation in graph.get_operations()
        if operation in initializers or operation.type in _CHANGES
    ]


class _OfTheGraph(lookup_ops.HashTable):  # type: ignore[misc]
    """A static table: in its graph an operation of that, elsewhere one of this process.

    A layer asks it outside the graph too, for its size.
    """

    def __init__(
        self,
        graph: tf.Graph,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._graph = graph
        self._handle_in_graph: Any = None
        self._filled_in_graph: Any = None
        # A table with a name would outlive all that use it, whatever was asked for.
        super().__init__(initializer, default_value, name, experimental_is_anonymous=True)

    @property
    def resource_handle(self) -> Any:
        """The table of the graph, made when that first uses it, or this process' table."""
        if not self._in_graph():
            return super().resource_handle
        if self._handle_in_graph is None:
            # The graph may first ask in a function inside it.
            with self._graph.as_default(), tf.control_dependencies(None):
                self._handle_in_graph = self._create_resource()
                self._filled_in_graph = super()._initialize()
        return self._handle_in_graph

    def _initialize(self) -> Any:
        if not self._in_graph():
            return super()._initialize()
        _ = self.resource_handle  # fills it
        return self._filled_in_graph

    def _in_graph(self) -> bool:
        graph = None if tf.executing_eagerly() else ops.get_default_graph()
        while graph is not None and graph is not self._graph:
            graph = getattr(graph, "outer_graph", None)
        return graph is not None
