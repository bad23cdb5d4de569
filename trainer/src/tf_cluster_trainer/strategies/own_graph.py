"""What every client of between-graph replication builds: its data, its step, the ps' state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow as tf

from tf_cluster_trainer.strategies import on_ps, parameter_servers
from tf_cluster_trainer.strategies.on_ps import State
from tf_cluster_trainer.strategies.parameter_servers import Making
from tf_cluster_trainer.strategies.rising import Rising
from tf_cluster_trainer.strategies.traced import Imported, Traced


@dataclass(frozen=True)
class Seen:
    """The state as a session read it: which life it is, the step that began at, the counters."""

    life: int
    origin: int
    counters: Any

    @property
    def step(self) -> int:
        """The run's step."""
        return self.origin + int(self.counters[:, 0].sum())


class Calls(Protocol):
    """How steps are made in a session. Each raises the session's errors."""

    def begin(self, session: Any, seen: Seen) -> None:
        """This worker has a session and the state is filled."""

    def call(self, session: Any, most: int, seen: Seen) -> Seen:
        """Make up to `most` steps; what was seen after them."""

    def stuck(self, session: Any, seconds: float) -> bool:
        """Asked while a call takes long, from another thread: whether it must be given up.

        `seconds` is how long it has taken.
        """


class OwnGraph:
    """One worker's part of the graph, without its loop."""

    def __init__(self, making: Making, traced: Traced, index: int, ps: int, *, rows: int) -> None:
        self.index = index
        self.container = tf.compat.v1.get_default_graph()._container
        self.workers = making.workers
        self.ps = ps
        self.total = making.ctx.settings.steps
        # Of lives, rounds and sessions alike: what is of an earlier life has a lower number.
        self.numbers = Rising()
        self.measures = 1 + len(making.trial.metrics)
        self.kinds = traced.kinds
        self.state: State = on_ps.make(
            traced.variables,
            making.trial.variables,
            making.ctx.settings,
            ps=ps,
            rows=rows,
            workers=making.workers,
            metrics=len(making.trial.metrics),
        )
        self._traced = traced
        self._worker = f"/job:worker/replica:0/task:{index}"
        self._own: Mapping[str, Any] = {}
        with tf.device(f"{self._worker}/device:CPU:0"):
            self.start = tf.compat.v1.placeholder(tf.int64, [])
            dataset = parameter_servers.batches(making, index, self.start)
            self._batches = tf.compat.v1.data.make_initializable_iterator(dataset)
            self._own = {
                name: tf.Variable(value, trainable=False) for name, value in traced.own.items()
            }
        self.begin = tf.group(
            self._batches.initializer,
            tf.compat.v1.tables_initializer(),
            *(variable.initializer for variable in self._own.values()),
        )

    def step(self) -> Imported:
        """The next batch's gradients and measures."""
        with tf.compat.v1.device(on_ps.beside(self._worker)):
            features, labels = self._batches.get_next()
            flat = [*tf.nest.flatten(features), *tf.nest.flatten(labels)]
            return self._traced.put(flat, self.state.model.variables, self._own)
