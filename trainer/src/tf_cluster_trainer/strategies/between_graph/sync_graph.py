"""The graph of between-graph sync: accumulators for the gradients, queues of tokens, the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.strategies.between_graph.graph import WorkerGraph
from tf_cluster_trainer.strategies.step import devices
from tf_cluster_trainer.strategies.step.shared_sends import shared_sends
from tf_cluster_trainer.strategies.step.sparse_updates import are_distinct


@dataclass(frozen=True)
class SyncGraph:
    """The placeholders to feed and the operations to run.

    Feeds: `number`, of a round or of this worker's session; `token`, [round, step]; `most` steps.
    Operations that need `number`: `join` announces this worker; `set_time` sets every accumulator's
    time. Operations that need `token`: `give_tokens`, to the other workers; `one_step`; with `most`
    also `many_steps`. The last two return one float64 vector that is split at `ends`: the next
    token, the generation, the counters, the members. `look` returns the members and the counters,
    `held` the number of gradients in each accumulator; each of `takes` takes all of one
    accumulator.
    """

    number: Any
    token: Any
    most: Any
    join: Any
    look: Any
    next_token: Any
    give_tokens: Sequence[Any]
    one_step: Any
    many_steps: Any
    ends: Any
    set_time: Sequence[Any]
    held: Sequence[Any]
    takes: Sequence[Any]


def sync_graph(graph: WorkerGraph) -> SyncGraph:
    """Build it in the current graph."""
    state = graph.state
    number = tf.compat.v1.placeholder(tf.int64, [])
    token = tf.compat.v1.placeholder(tf.int64, [2])
    most = tf.compat.v1.placeholder(tf.int64, [])
    with tf.device(devices.ps(0)):
        queues = [
            tf.queue.FIFOQueue(-1, [tf.int64], [[2]], shared_name=f"turns-{index}")
            for index in range(graph.workers)
        ]
        join = state.members.scatter_update(
            tf.IndexedSlices(number[tf.newaxis], tf.constant([graph.index], tf.int64))
        )
        look = [state.members.read_value(), state.counters.read_value()]
    steps = _Steps(graph, queues, _accumulators(graph))
    next_token = queues[graph.index].dequeue()
    give_tokens = [queue.enqueue([token]) for queue in queues[1:]]
    # A loop sends a message to every task in each iteration, which costs too much for one step.
    one_step = _with_state(graph, steps.make(token, steps.accumulators))
    _, last = tf.while_loop(
        lambda made, token: tf.logical_and(made < most, token[1] < graph.total),
        lambda made, token: (made + 1, steps.make(token, steps.accumulators_in_a_loop())),
        [tf.constant(0, tf.int64), token],
    )
    many_steps = _with_state(graph, last)
    there = [one for one in steps.accumulators if one is not None]
    return SyncGraph(
        number=number,
        token=token,
        most=most,
        join=join,
        look=look,
        next_token=next_token,
        give_tokens=give_tokens,
        one_step=one_step,
        many_steps=many_steps,
        ends=np.cumsum([2, 3, 1 + graph.measures]),
        set_time=[one.set_global_step(number) for one in there],
        held=[one.num_accumulated() for one in there],
        takes=[_take(one, 1) for one in there],
    )


class _Steps:
    """A worker's step; worker 0's also applies the mean and gives the others their tokens."""

    def __init__(self, graph: WorkerGraph, queues: list[Any], accumulators: list[Any]) -> None:
        self._graph = graph
        self._queues = queues
        self.accumulators = accumulators

    def make(self, token: Any, accumulators: list[Any]) -> Any:
        """Give this token's gradients; return the next token once the step is made."""
        with shared_sends(self._graph.batch_size):
            step = self._graph.step()
            given = [
                _give(one, gradient, token[0])
                for one, gradient in zip(
                    accumulators, [*step.gradients, step.measures], strict=True
                )
                if one is not None
            ]
        with tf.control_dependencies([*given, *step.effects]):
            if self._graph.index == 0:
                return self._apply(accumulators, token)
            return self._queues[self._graph.index].dequeue()

    def accumulators_in_a_loop(self) -> list[Any]:
        """The same accumulators, for use in a loop.

        Sparse ones can't be passed into a loop; the ps finds them by name.
        """
        variables = self._graph.state.model.trainable_variables
        graph = tf.compat.v1.get_default_graph()
        with graph.container(self._graph.container):
            return [
                _accumulator(kind, variable, f"gradient-{at}") if kind == "sparse" else outside
                for at, (kind, variable, outside) in enumerate(
                    zip(self._graph.kinds, variables, self.accumulators, strict=False)
                )
            ] + [self.accumulators[-1]]

    def _apply(self, accumulators: list[Any], token: Any) -> Any:
        """Apply one update with the means; return the next token."""
        state, workers = self._graph.state, self._graph.workers
        variables = state.model.trainable_variables
        *gradients, measures = accumulators
        means = [
            one and _take(one, workers, variable.dtype)
            for one, variable in zip(gradients, variables, strict=True)
        ]
        measures = _take(measures, workers)
        # All or nothing: no variable changes before every mean is there.
        with tf.control_dependencies(tf.nest.flatten([means, measures], expand_composites=True)):
            pairs = zip(means, variables, strict=True)
            applied = state.optimizer.apply_gradients(
                [(mean, variable) for mean, variable in pairs if mean is not None],
                experimental_aggregate_gradients=False,  # it would have them fetched and sent back
            )
        with tf.control_dependencies([applied]), tf.device(devices.ps(0)):
            row = tf.concat([[tf.constant(1.0, tf.float64)], measures], axis=0)
            counted = state.counters.assign_add(row[tf.newaxis], read_value=False)
            token = token + 1
            with tf.control_dependencies([counted]):
                given = [queue.enqueue([token]) for queue in self._queues[1:]]
                with tf.control_dependencies(given):
                    return tf.identity(token)


def _with_state(graph: WorkerGraph, token: Any) -> Any:
    """The token, followed by the generation, the counters and the members, read after it.

    They are one tensor, because each tensor costs a call to the ps in every step. As float64 it
    holds the numbers of rounds (microseconds since 1970) exactly until 2255.
    """
    state = graph.state
    with tf.device(devices.ps(0)), tf.control_dependencies([token]):
        kept = [state.generation, state.counters, state.members]
        found = [token, *(variable.read_value() for variable in kept)]
        parts = [tf.reshape(tf.cast(one, tf.float64), [-1]) for one in found]
        return tf.concat(parts, axis=0)


def _accumulators(graph: WorkerGraph) -> list[Any]:
    """An accumulator for each gradient and one for the measures; None for no gradient.

    Each is on its variable's device.
    """
    variables = graph.state.model.trainable_variables
    found = [
        _accumulator(kind, variable, f"gradient-{at}")
        for at, (kind, variable) in enumerate(zip(graph.kinds, variables, strict=True))
    ]
    with tf.device(devices.ps(0)):
        measures = tf.compat.v1.ConditionalAccumulator(
            tf.float64, [graph.measures], shared_name="measures", reduction_type="SUM"
        )
    return [*found, measures]


def _accumulator(kind: str | None, variable: Any, name: str) -> Any:
    if kind is None:
        return None
    v1 = tf.compat.v1
    made = v1.SparseConditionalAccumulator if kind == "sparse" else v1.ConditionalAccumulator
    # A sum: the mean of sparse gradients would be over the workers that have a row, not over all.
    # Neither kind has a kernel for bfloat16.
    dtype = tf.float32 if variable.dtype == tf.bfloat16 else variable.dtype
    with tf.device(variable.device):
        return made(dtype, variable.shape, shared_name=name, reduction_type="SUM")


def _give(accumulator: Any, gradient: Any, number: Any) -> Any:
    if not isinstance(gradient, tf.IndexedSlices):
        return accumulator.apply_grad(_beside(accumulator, gradient), local_step=number)
    # The accumulator merges two sparse gradients in one pass over both: the indices must rise.
    order = tf.argsort(gradient.indices)
    indices, values = tf.gather(gradient.indices, order), tf.gather(gradient.values, order)
    # Sorted ones do not tell. `are_distinct` counts on it that each worker's are distinct here.
    if not are_distinct(gradient.indices):
        indices, place = tf.unique(indices)
        values = tf.math.unsorted_segment_sum(values, place, tf.size(indices))
    shape = tf.cast(gradient.dense_shape, tf.int64)
    values = _beside(accumulator, values)
    return accumulator.apply_grad(tf.cast(indices, tf.int64), values, shape, local_step=number)


def _take(accumulator: Any, required: int, dtype: tf.DType | None = None) -> Any:
    """The mean of so many in this type, or the accumulator's, as soon as they are there."""
    dtype = dtype or accumulator.dtype
    with tf.device(accumulator.accumulator_ref.device):
        if isinstance(accumulator, tf.compat.v1.SparseConditionalAccumulator):
            found = accumulator.take_indexed_slices_grad(required)
            mean = tf.cast(found.values / required, dtype)
            return tf.IndexedSlices(mean, found.indices, found.dense_shape)
        return tf.cast(accumulator.take_grad(required) / required, dtype)


def _beside(accumulator: Any, value: Any) -> Any:
    """The value in the accumulator's type, cast where that is: fewer bytes travel."""
    with tf.device(accumulator.accumulator_ref.device):
        return tf.cast(value, accumulator.dtype)
