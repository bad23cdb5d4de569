"""Between-graph sync: a step is one update with the mean of one gradient from every worker.

As in SyncReplicasOptimizer, accumulators on the ps take the gradients, drop late ones, and give the
mean when all have come; worker 0 then applies it and lets each worker begin the next round. Unlike
there, each worker has its own tokens: a fast one never gives two gradients to a step.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.strategies.between_graph.graph import WorkerGraph
from tf_cluster_trainer.strategies.between_graph.sync_graph import sync_graph
from tf_cluster_trainer.strategies.between_graph.variables import PsState

NO_PROGRESS_SECONDS = 1.0
FIRST_PATIENCE_SECONDS = 60.0
LOOK_MILLISECONDS = 2000


class SyncCalls:
    """Adds the loop to a worker's graph, then makes calls of many steps in a session.

    A token is [round, step]; it allows one gradient of that round. A round is tried once. When a
    worker was lost or came back, worker 0 begins a round with a higher number, and the accumulators
    drop what is left of the old one.
    """

    def __init__(self, graph: WorkerGraph) -> None:
        self._graph = graph
        self._sync = sync_graph(graph)
        self._is_chief = graph.index == 0
        self._token: Any = None
        self._members: Any = None  # those that the present round was begun with
        self._present: Any = None  # those seen last
        self._patience = FIRST_PATIENCE_SECONDS
        # The step last seen, and the time when it was first seen.
        self._no_progress_since: tuple[float, float] | None = None

    def begin(self, session: Any, seen: PsState) -> None:
        """Announce this worker, which has given nothing to any round."""
        self._token = self._present = None
        self._no_progress_since = None
        session.run(self._sync.join, {self._sync.number: self._graph.generations.next()})

    def call(self, session: Any, most: int, seen: PsState) -> PsState:
        """Make up to `most` steps with the others; wait for them inside TensorFlow."""
        if self._is_chief and not self._in_round(session, seen):
            time.sleep(0.05)
            return seen
        while self._token is None or self._token[0] < seen.generation:
            # A token of an earlier generation is worth nothing.
            self._token = session.run(self._sync.next_token)
        # Each step raises the round's number by one, even if this call is given up.
        self._graph.generations.used(int(self._token[0]) + most)
        fed = {self._sync.token: self._token}
        if most == 1 and self._token[1] < self._graph.total:
            packed = session.run(self._sync.one_step, fed)
        else:
            packed = session.run(self._sync.many_steps, {**fed, self._sync.most: most})
        token, generation, counters, present = np.split(packed, self._sync.ends)
        self._token, self._present = token.astype(np.int64), present.astype(np.int64)
        self._no_progress_since = None
        return PsState(int(generation[0]), int(generation[1]), counters[np.newaxis])

    def stuck(self, session: Any, seconds: float) -> bool:
        """Only worker 0 knows: a worker came back and waits for a new round."""
        if not self._is_chief or self._members is None or seconds < NO_PROGRESS_SECONDS:
            return False
        limit = tf.compat.v1.RunOptions(timeout_in_ms=LOOK_MILLISECONDS)
        try:
            members, counters = session.run(self._sync.look, options=limit)
        except tf.errors.OpError:
            return False  # the call itself will fail
        made, now = float(counters[0, 0]), time.monotonic()
        if self._no_progress_since is None or self._no_progress_since[0] != made:
            self._no_progress_since = (made, now)
            return False
        waited = now - self._no_progress_since[1]
        if waited >= NO_PROGRESS_SECONDS and not np.array_equal(members, self._members):
            return True
        if waited >= self._patience:
            self._patience *= 2  # for good: steps may take that long
            log(f"no step in {waited:.0f} s: asking every worker for its gradients again", WARNING)
            return True
        return False

    def _in_round(self, session: Any, seen: PsState) -> bool:
        """Begin a round if there is none that all present workers can take part in."""
        if self._token is not None and np.array_equal(self._present, self._members):
            return True
        self._present = members = session.run(self._graph.state.members)
        if not members.all():
            return False
        # Accumulators drop gradients older than their own time. So set the time first, then take
        # what they hold; taking adds one to the time.
        sync = self._sync
        number = self._graph.generations.next(above=seen.generation)
        session.run(sync.set_time, {sync.number: number})
        held = session.run(sync.held)
        session.run([take for take, count in zip(sync.takes, held, strict=True) if count > 0])
        session.run(sync.set_time, {sync.number: number + 1})
        token = np.array([number + 1, seen.step], np.int64)
        session.run(sync.give_tokens, {sync.token: token})
        self._token, self._members = token, members
        return True
