"""Between-graph sync: a step is one update with the mean of one gradient from every worker.

As SyncReplicasOptimizer does it, accumulators on the ps take the gradients, drop late ones, and
give their mean when all are there; worker 0 then applies it and lets each worker begin the next
round. Unlike there a worker's turn is its own: a fast one never gives two gradients to a step.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.log import log
from tf_cluster_trainer.strategies import on_ps
from tf_cluster_trainer.strategies.own_graph import OwnGraph, Seen

STILL_SECONDS = 1.0
FIRST_PATIENCE_SECONDS = 60.0
LOOK_MILLISECONDS = 2000


class SyncCalls:
    """Built in a worker's graph; then calls of many steps by a session.

    A turn is [round, step]: it allows one gradient of that round. A round is tried once: when a
    worker was lost or came back, worker 0 begins another with a higher number, and what is left of
    the old one is dropped by the accumulators.
    """

    def __init__(self, own: OwnGraph) -> None:
        self._own = own
        self._leads = own.index == 0
        self._turn: Any = None
        self._members: Any = None  # those that the present round was begun with
        self._present: Any = None  # those seen last
        self._patience = FIRST_PATIENCE_SECONDS
        self._still: tuple[float, float] | None = None  # the steps last seen, and when first
        self._build()

    def begin(self, session: Any, seen: Seen) -> None:
        """Say that this worker is there, with nothing given to any round."""
        self._turn = self._present = None
        self._still = None
        session.run(self._join, {self._number: self._own.numbers.next()})

    def call(self, session: Any, most: int, seen: Seen) -> Seen:
        """Make up to `most` steps with the others; waits for them inside TensorFlow."""
        if self._leads and not self._in_turn(session, seen):
            time.sleep(0.05)
            return seen
        while self._turn is None or self._turn[0] < seen.life:
            self._turn = session.run(self._next_turn)  # one of an earlier life is worth nothing
        # Each step raises the round's number by one, also when this call is given up.
        self._own.numbers.used(int(self._turn[0]) + most)
        fed = {self._given: self._turn}
        if most == 1 and self._turn[1] < self._own.total:
            packed = session.run(self._one_step, fed)
        else:
            packed = session.run(self._steps, {**fed, self._most: most})
        turn, life, counters, present = np.split(packed, self._ends)
        self._turn, self._present = turn.astype(np.int64), present.astype(np.int64)
        self._still = None
        return Seen(int(life[0]), int(life[1]), counters[np.newaxis])

    def stuck(self, session: Any, seconds: float) -> bool:
        """Worker 0 alone tells: somebody came back and waits for a round of its own."""
        if not self._leads or self._members is None or seconds < STILL_SECONDS:
            return False
        limit = tf.compat.v1.RunOptions(timeout_in_ms=LOOK_MILLISECONDS)
        try:
            members, counters = session.run(self._looked_at, options=limit)
        except tf.errors.OpError:
            return False  # the call itself will fail
        made, now = float(counters[0, 0]), time.monotonic()
        if self._still is None or self._still[0] != made:
            self._still = (made, now)
            return False
        waited = now - self._still[1]
        if waited >= STILL_SECONDS and not np.array_equal(members, self._members):
            return True
        if waited >= self._patience:
            self._patience *= 2  # for good: steps may take that long
            log(f"no step in {waited:.0f} s: asking every worker for its gradients again")
            return True
        return False

    def _in_turn(self, session: Any, seen: Seen) -> bool:
        """Begin a round when there is none that all present workers can take part in."""
        if self._turn is not None and np.array_equal(self._present, self._members):
            return True
        self._present = members = session.run(self._own.state.members)
        if not members.all():
            return False
        # Accumulators drop what is older than their own time, so first the time, then what they
        # hold. Taking moves the time on by one.
        number = self._own.numbers.next(above=seen.life)
        session.run(self._set_time, {self._number: number})
        held = session.run(self._held)
        session.run([take for take, count in zip(self._takes, held, strict=True) if count > 0])
        session.run(self._set_time, {self._number: number + 1})
        turn = np.array([number + 1, seen.step], np.int64)
        session.run(self._give_turns, {self._given: turn})
        self._turn, self._members = turn, members
        return True

    def _build(self) -> None:
        state, own = self._own.state, self._own
        self._number = tf.compat.v1.placeholder(tf.int64, [])
        self._given = tf.compat.v1.placeholder(tf.int64, [2])
        self._most = tf.compat.v1.placeholder(tf.int64, [])
        with tf.device(on_ps.device(0)):
            self._turns = [
                tf.queue.FIFOQueue(-1, [tf.int64], [[2]], shared_name=f"turns-{index}")
                for index in range(own.workers)
            ]
            self._join = state.members.scatter_update(
                tf.IndexedSlices(self._number[tf.newaxis], tf.constant([own.index], tf.int64))
            )
            self._looked_at = [state.members.read_value(), state.counters.read_value()]
        self._next_turn = self._turns[own.index].dequeue()
        self._give_turns = [turns.enqueue([self._given]) for turns in self._turns[1:]]
        self._gathered = self._accumulators()
        # A loop tells every task of each turn that it takes, which for one step costs too much.
        self._one_step = self._and_seen(self._step(self._given, self._gathered))
        self._ends = np.cumsum([2, 3, 1 + own.measures])  # of all but the last in what is seen
        _, turn = tf.while_loop(
            lambda made, turn: tf.logical_and(made < self._most, turn[1] < own.total),
            lambda made, turn: (made + 1, self._step(turn, self._in_the_loop())),
            [tf.constant(0, tf.int64), self._given],
        )
        self._steps = self._and_seen(turn)
        gathered = [one for one in self._gathered if one is not None]
        self._set_time = [one.set_global_step(self._number) for one in gathered]
        self._held = [one.num_accumulated() for one in gathered]
        self._takes = [_take(one, 1) for one in gathered]

    def _and_seen(self, turn: Any) -> Any:
        """The turn, then the life, the counters and the members on the ps when it has come.

        One tensor, for each costs a call to the ps in every step. As float64 it holds the numbers
        of rounds (microseconds since 1970) exactly until 2255.
        """
        state = self._own.state
        with tf.device(on_ps.device(0)), tf.control_dependencies([turn]):
            kept = [state.life, state.counters, state.members]
            found = [turn, *(variable.read_value() for variable in kept)]
            parts = [tf.reshape(tf.cast(one, tf.float64), [-1]) for one in found]
            return tf.concat(parts, axis=0)

    def _accumulators(self) -> list[Any]:
        """One for each gradient, where its variable is, and one for the measures; None for none."""
        variables = self._own.state.model.trainable_variables
        found = [
            _accumulator(kind, variable, f"gradient-{at}")
            for at, (kind, variable) in enumerate(zip(self._own.kinds, variables, strict=True))
        ]
        with tf.device(on_ps.device(0)):
            measures = tf.compat.v1.ConditionalAccumulator(
                tf.float64, [self._own.measures], shared_name="measures", reduction_type="SUM"
            )
        return [*found, measures]

    def _in_the_loop(self) -> list[Any]:
        """The same. Those of sparse gradients can't be handed into a loop; the ps knows them."""
        variables = self._own.state.model.trainable_variables
        graph = tf.compat.v1.get_default_graph()
        with graph.container(self._own.container):
            return [
                _accumulator(kind, variable, f"gradient-{at}") if kind == "sparse" else outside
                for at, (kind, variable, outside) in enumerate(
                    zip(self._own.kinds, variables, self._gathered, strict=False)
                )
            ] + [self._gathered[-1]]

    def _step(self, turn: Any, gathered: list[Any]) -> Any:
        """Give this turn's gradients; the next turn, once the step is made."""
        step = self._own.step()
        given = [
            _give(one, gradient, turn[0])
            for one, gradient in zip(gathered, [*step.gradients, step.measures], strict=True)
            if one is not None
        ]
        with tf.control_dependencies([*given, *step.effects]):
            if self._leads:
                return self._apply(gathered, turn)
            return self._turns[self._own.index].dequeue()

    def _apply(self, gathered: list[Any], turn: Any) -> Any:
        """One update with the means; the next turn."""
        state, workers = self._own.state, self._own.workers
        *means, measures = [one and _take(one, workers) for one in gathered]
        # All or nothing: no variable is changed before every mean is there.
        with tf.control_dependencies(tf.nest.flatten([means, measures], expand_composites=True)):
            pairs = zip(means, state.model.trainable_variables, strict=True)
            applied = state.optimizer.apply_gradients(
                [(mean, variable) for mean, variable in pairs if mean is not None],
                experimental_aggregate_gradients=False,  # it would have them fetched and sent back
            )
        with tf.control_dependencies([applied]), tf.device(on_ps.device(0)):
            row = tf.concat([[tf.constant(1.0, tf.float64)], measures], axis=0)
            counted = state.counters.assign_add(row[tf.newaxis], read_value=False)
            turn = turn + 1
            with tf.control_dependencies([counted]):
                told = [turns.enqueue([turn]) for turns in self._turns[1:]]
                with tf.control_dependencies(told):
                    return tf.identity(turn)


def _accumulator(kind: str | None, variable: Any, name: str) -> Any:
    if kind is None:
        return None
    v1 = tf.compat.v1
    made = v1.SparseConditionalAccumulator if kind == "sparse" else v1.ConditionalAccumulator
    # A sum: the mean of sparse ones is over those that have a row, not over all.
    with tf.device(variable.device):
        return made(variable.dtype, variable.shape, shared_name=name, reduction_type="SUM")


def _give(accumulator: Any, gradient: Any, number: Any) -> Any:
    if not isinstance(gradient, tf.IndexedSlices):
        return accumulator.apply_grad(gradient, local_step=number)
    # It merges with what it holds by walking through both: the indices must rise.
    order = tf.argsort(gradient.indices)
    indices, place = tf.unique(tf.gather(gradient.indices, order))
    values = tf.math.unsorted_segment_sum(
        tf.gather(gradient.values, order), place, tf.size(indices)
    )
    shape = tf.cast(gradient.dense_shape, tf.int64)
    return accumulator.apply_grad(tf.cast(indices, tf.int64), values, shape, local_step=number)


def _take(accumulator: Any, required: int) -> Any:
    """The mean of so many, as soon as they are there."""
    with tf.device(accumulator.accumulator_ref.device):
        if isinstance(accumulator, tf.compat.v1.SparseConditionalAccumulator):
            found = accumulator.take_indexed_slices_grad(required)
            return tf.IndexedSlices(found.values / required, found.indices, found.dense_shape)
        return accumulator.take_grad(required) / required
