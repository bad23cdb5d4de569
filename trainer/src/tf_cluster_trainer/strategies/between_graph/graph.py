"""The graph of every between-graph worker: its data, its step, the state on the ps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import tensorflow as tf

from tf_cluster_trainer.program import tables
from tf_cluster_trainer.strategies.between_graph import variables as ps_variables
from tf_cluster_trainer.strategies.between_graph.generation import GenerationClock
from tf_cluster_trainer.strategies.between_graph.traced_step import StepOps, TracedStep
from tf_cluster_trainer.strategies.between_graph.variables import PsState, PsVariables
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.step import devices
from tf_cluster_trainer.strategies.step.input import worker_batches


class Calls(Protocol):
    """How steps are made in a session. Every method raises the session's errors."""

    def begin(self, session: Any, seen: PsState) -> None:
        """Begin: this worker has a session and the state is filled."""

    def call(self, session: Any, most: int, seen: PsState) -> PsState:
        """Make up to `most` steps; return the state seen after them."""

    def stuck(self, session: Any, seconds: float) -> bool:
        """Whether a long call must be given up; another thread asks.

        `seconds` is how long the call has taken.
        """


class WorkerGraph:
    """One worker's part of the graph, without its loop."""

    def __init__(self, context: StrategyContext, traced: TracedStep) -> None:
        config, trial = context.config, context.trial
        self.index = config.task.index
        self.container = tf.compat.v1.get_default_graph()._container
        self.workers = context.workers
        self.ps = config.cluster.size("ps")
        self.total = config.settings.steps
        self.batch_size = config.settings.batch_size
        # Numbers generations, rounds and sessions: those of an earlier generation are lower.
        self.generations = GenerationClock()
        self.measures = 1 + len(trial.metrics)
        self.kinds = traced.kinds
        self.state: PsVariables = ps_variables.make(
            traced.variables,
            trial.variables,
            trial.trained,
            config.settings,
            ps=self.ps,
            rows=1 if config.settings.combination.lockstep else self.workers,
            workers=self.workers,
            metrics=len(trial.metrics),
        )
        self._traced = traced
        self._worker = devices.worker(self.index)
        self._own: Mapping[str, Any] = {}
        with tf.device(devices.worker_cpu(self.index)):
            self.start = tf.compat.v1.placeholder(tf.int64, [])
            dataset = worker_batches(context, self.index, self.start)
            self._batches = tf.compat.v1.data.make_initializable_iterator(dataset)
            self._own = {
                name: tf.Variable(value, trainable=False) for name, value in traced.own.items()
            }
        # Before `begin`, one by one.
        self.fillings = tables.fillings(tf.compat.v1.get_default_graph())
        self.begin = tf.group(
            self._batches.initializer,
            *(variable.initializer for variable in self._own.values()),
        )

    def step(self) -> StepOps:
        """Return the next batch's gradients and measures."""
        with tf.compat.v1.device(ps_variables.beside(self._worker)):
            features, labels = self._batches.get_next()
            flat = [*tf.nest.flatten(features), *tf.nest.flatten(labels)]
            return self._traced.put(flat, self.state.model.variables, self._own)
