"""Between-graph async: a call makes K steps of one worker, whatever the others do."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.strategies.between_graph.graph import WorkerGraph
from tf_cluster_trainer.strategies.between_graph.variables import PsState
from tf_cluster_trainer.strategies.step import devices
from tf_cluster_trainer.strategies.step.shared_sends import shared_sends


class AsyncCalls:
    """Adds the loop to a worker's graph, then makes calls of many steps in a session."""

    def __init__(self, graph: WorkerGraph) -> None:
        self._graph = graph
        self._build()

    def begin(self, session: Any, seen: PsState) -> None:
        """Nothing to do: this worker is ready for calls."""

    def call(self, session: Any, most: int, seen: PsState) -> PsState:
        """Make up to `most` steps; none, or uncounted ones, if a new generation has begun."""
        left = max(0, self._graph.total - seen.step)
        share = -(-left // self._graph.workers)  # the others take theirs meanwhile
        generation, counters = session.run(
            self._fetched, {self._most: min(most, share), self._generation: seen.generation}
        )
        return PsState(int(generation[0]), int(generation[1]), counters)

    def stuck(self, session: Any, seconds: float) -> bool:
        """Never: no worker waits for another."""
        return False

    def _build(self) -> None:
        state = self._graph.state
        self._most = tf.compat.v1.placeholder(tf.int64, [])
        self._generation = tf.compat.v1.placeholder(tf.int64, [])
        with tf.device(devices.ps(0)):
            began = tf.equal(state.generation.read_value()[0], self._generation)
        limit = tf.where(began, self._most, 0)
        made, sums = tf.while_loop(
            lambda made, sums: made < limit,
            self._step,
            [tf.constant(0, tf.int64), tf.zeros([self._graph.measures], tf.float64)],
        )
        with tf.device(devices.ps(0)), tf.control_dependencies([made, sums]):
            # Steps on a state that was replaced meanwhile do not count.
            generation = state.generation.read_value()
            row = tf.concat([[tf.cast(made, tf.float64)], sums], axis=0)
            row *= tf.cast(tf.equal(generation[0], self._generation), tf.float64)
            index = tf.constant([self._graph.index], tf.int64)
            counted = state.counters.scatter_add(tf.IndexedSlices(row[tf.newaxis], index))
            with tf.control_dependencies([counted]):
                self._fetched = [tf.identity(generation), state.counters.read_value()]

    def _step(self, made: Any, sums: Any) -> tuple[Any, Any]:
        state = self._graph.state
        with shared_sends(self._graph.batch_size):
            step = self._graph.step()
            pairs = zip(step.gradients, state.model.trainable_variables, strict=True)
            applied = state.optimizer.apply_gradients(pairs)
        with tf.control_dependencies([applied, *step.effects]):
            return made + 1, sums + step.measures
