"""Places the lookup tables of a data set's function on the task that runs the function.

TensorFlow makes a static table once, while it traces the function, and outside the graph
(`init_scope` in lookup_ops.py). With parameter servers the table would be the chief's, and every
worker would ask the chief for every example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

# tf.lookup has no public scope for the creation of tables; ParameterServerStrategy uses this one.
from tensorflow.python.framework import ops
from tensorflow.python.ops import lookup_ops

# The class names of static tables: in tf.lookup, in tf.compat.v1.lookup, and inside a
# StaticVocabularyTable.
STATIC = ("StaticHashTable", "StaticHashTableV1", "HashTable")
# The operations that change a table of another kind.
_CHANGES = ("LookupTableInsertV2", "LookupTableRemoveV2")


@contextmanager
def of_the_graph() -> Iterator[None]:
    """Inside this context, static tables belong to the function that is being traced.

    So do those of layers (StringLookup, TextVectorization), which would leave the graph. Each call
    of the function makes and fills its own tables; they live as long as the data set that it
    returns. Tables of other kinds are always made in the graph.
    """
    graph = ops.get_default_graph()

    def make(_: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return _OfTheGraph(graph, *given, **named)

    with ops.resource_creator_scope(STATIC, make):
        yield


@contextmanager
def ending_with_their_use() -> Iterator[None]:
    """Inside this context, static tables made outside any graph end when nobody uses them.

    TensorFlow would give each a name, which keeps it for as long as this process.
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
    """Return the operations of a 1.x graph that fill and change its tables, in the program's order.

    Run them one by one. TensorFlow knows which tables have to be filled, but not that the program
    then asks the size of one or fills one from another. It knows nothing of `insert`.
    """
    initializers = graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
    return [
        operation
        for operation in graph.get_operations()
        if operation in initializers or operation.type in _CHANGES
    ]


class _OfTheGraph(lookup_ops.HashTable):  # type: ignore[misc]
    """A static table: an operation of its graph inside that graph, elsewhere a table of this
    process.

    A layer also asks for its size outside the graph.
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
        # A table with a name would outlive all that use it, so it never gets one.
        super().__init__(initializer, default_value, name, experimental_is_anonymous=True)

    @property
    def resource_handle(self) -> Any:
        """The graph's table, made at its first use there; outside the graph this process' table."""
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
