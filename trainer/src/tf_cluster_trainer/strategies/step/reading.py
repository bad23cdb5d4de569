"""Reads remote variables once, however often a step uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


class ReadOnce:
    """The variables' values in one step, each read when the model first asks for it.

    It is valid only in the graph of that step.
    """

    def __init__(self, variables: Sequence[Any]) -> None:
        self._graph = tf.compat.v1.get_default_graph()
        self._variables = variables
        self._held = [_held(variable) for variable in variables]
        self._values: list[Any] = [None] * len(variables)
        self._tape: Any = None

    def on(self, tape: Any) -> ReadOnce:
        """A context in which the variables have these values, and the tape watches them.

        Rows that the model looks up are still read from the variable: they differ each time, and
        are fewer than all.
        """
        self._tape = tape
        return self

    def __enter__(self) -> None:
        self._tape.watch([value for value in self._values if value is not None])
        for at, held in enumerate(self._held):
            if held is not None:
                # Shadows the method by which TensorFlow converts a variable to a tensor.
                held.value = self._value_of(at, held.value)

    def __exit__(self, *error: object) -> None:
        for held in self._held:
            if held is not None:
                del held.value

    def gradients(self, tape: Any, loss: Any) -> list[Any]:
        """Gradients by variable, through its value and its looked-up rows; None for none."""
        there = [at for at, value in enumerate(self._values) if value is not None]
        sources = [*self._variables, *(self._values[at] for at in there)]
        found = tape.gradient(loss, sources)
        gradients = found[: len(self._variables)]
        for at, through_value in zip(there, found[len(self._variables) :], strict=True):
            gradients[at] = _both(gradients[at], through_value)
        return list(gradients)

    def _value_of(self, at: int, read: Callable[[], Any]) -> Callable[[], Any]:
        def value() -> Any:
            if self._values[at] is None:
                # The model may ask inside a loop's graph, or under a batch's control dependencies.
                with (
                    self._tape.stop_recording(),
                    self._graph.as_default(),
                    tf.control_dependencies(None),
                ):
                    self._values[at] = read()
                self._tape.watch(self._values[at])
            return self._values[at]

        return value


def _held(variable: Any) -> Any:
    """The variable inside TensorFlow's and tf_keras' wrappers; None if it is in this process.

    With mixed precision tf_keras wraps the variable to cast its value; with parameter servers
    TensorFlow wraps it to cache it. A variable with a copy in every replica needs no unwrapping.
    """
    while True:
        if isinstance(variable, tf.distribute.DistributedValues):
            return None
        inner = vars(variable).get("_variable", vars(variable).get("_v"))
        if inner is None:
            return variable
        variable = inner


def _both(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return tf.convert_to_tensor(first) + tf.convert_to_tensor(second)
