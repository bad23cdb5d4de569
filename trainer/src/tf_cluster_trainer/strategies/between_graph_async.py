"""Between-graph async: a call makes K steps of one worker, in its own loop, whatever others do."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.strategies import on_ps
from tf_cluster_trainer.strategies.own_graph import OwnGraph, Seen


class AsyncCalls:
    """Built in a worker's graph; then calls of many steps by a session."""

    def __init__(self, own: OwnGraph) -> None:
        self._own = own
        self._build()

    def begin(self, session: Any, seen: Seen) -> None:
        """This worker is ready for calls."""

    def call(self, session: Any, most: int, seen: Seen) -> Seen:
        """Make up to `most` steps; none, or uncounted ones, when the state began a new life."""
        left = max(0, self._own.total - seen.step)
        share = -(-left // self._own.workers)  # the others take theirs meanwhile
        life, counters = session.run(
            self._fetched, {self._most: min(most, share), self._life: seen.life}
        )
        return Seen(int(life[0]), int(life[1]), counters)

    def stuck(self, session: Any, seconds: float) -> bool:
        """Nobody waits for another worker."""
        return False

    def _build(self) -> None:
        state = self._own.state
        self._most = tf.compat.v1.placeholder(tf.int64, [])
        self._life = tf.compat.v1.placeholder(tf.int64, [])
        with tf.device(on_ps.device(0)):
            began = tf.equal(state.life.read_value()[0], self._life)
        limit = tf.where(began, self._most, 0)
        made, sums = tf.while_loop(
            lambda made, sums: made < limit,
            self._step,
            [tf.constant(0, tf.int64), tf.zeros([self._own.measures], tf.float64)],
        )
        with tf.device(on_ps.device(0)), tf.control_dependencies([made, sums]):
            # Steps made on a state that was replaced meanwhile are none of its steps.
            life = state.life.read_value()
            row = tf.concat([[tf.cast(made, tf.float64)], sums], axis=0)
            row *= tf.cast(tf.equal(life[0], self._life), tf.float64)
            index = tf.constant([self._own.index], tf.int64)
            counted = state.counters.scatter_add(tf.IndexedSlices(row[tf.newaxis], index))
            with tf.control_dependencies([counted]):
                self._fetched = [tf.identity(life), state.counters.read_value()]

    def _step(self, made: Any, sums: Any) -> tuple[Any, Any]:
        step = self._own.step()
        state = self._own.state
        pairs = zip(step.gradients, state.model.trainable_variables, strict=True)
        applied = state.optimizer.apply_gradients(pairs)
        with tf.control_dependencies([applied, *step.effects]):
            return made + 1, sums + step.measures
