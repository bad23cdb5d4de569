"""parameter-server, in-graph, async: the chief sends calls of K steps to workers.

Built on tf.distribute.ParameterServerStrategy. Why: docs/decisions/0005-in-graph-async.md.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.in_graph import worker_recovery
from tf_cluster_trainer.strategies.in_graph.cluster import build_on_ps, for_workers, scope
from tf_cluster_trainer.strategies.step import devices, optimizers
from tf_cluster_trainer.strategies.step.gradients import Gradients
from tf_cluster_trainer.strategies.step.input import worker_batches
from tf_cluster_trainer.strategies.step.shared_sends import shared_sends


def make(context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> InGraphAsync:
    """Make the training, with its variables on the ps."""
    return InGraphAsync(context, strategy, resume_point)


class InGraphAsync:
    """A model on the ps and a queue of calls for the workers."""

    def __init__(self, context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> None:
        self._context = context
        self._resume_point = resume_point
        metrics = context.trial.metrics
        self._strategy = strategy
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._recovery = worker_recovery.install(self._coordinator, log, context.lost)
        with scope(strategy):
            self.model = build_on_ps(context)
            self.optimizer = optimizers.make(
                context.ctx.settings.optimizer, lambda: resume_point.optimizer_lag
            )
            self.optimizer._create_all_weights(self.model.trainable_variables)
            # A row for each worker: steps, sum of losses, sums of metrics. Only that worker writes
            # its row, one call at a time, so no update is lost; float64 counts exactly to 2 ** 53.
            self._counters = tf.Variable(
                tf.zeros([context.workers, 2 + len(metrics)], tf.float64),
                trainable=False,
                name="tallies",
            )
        self._gradients = Gradients(
            context.program, self.model, metrics, context.ctx.settings.micro_batches
        )
        self._calls: dict[int, Any] = {}
        self._steps = tf.function(self._make_steps)
        self._batches = self._worker_batches()

    def devices(self) -> dict[str, str]:
        """The device of every trainable variable, by the variable's name."""
        return devices.of_variables(self.model)

    def schedule(self, steps: int) -> None:
        """Queue one call of `steps` steps for any free worker. Raises a failed call's error."""
        if steps not in self._calls:
            with tf.device(devices.CHIEF):
                self._calls[steps] = tf.constant(steps, tf.int64)
        self._coordinator.schedule(self._steps, args=(self._batches, self._calls[steps]))

    def outstanding(self) -> int:
        """The number of calls queued or running. Raises a failed call's error, or PeerLostError.

        The coordinator's public `done` says only whether there are none.
        """
        if self._coordinator.done():
            return 0
        self._recovery.check()
        queue = self._coordinator._cluster.closure_queue
        return int(queue._queue.qsize() + queue.inflight_closure_count)

    def quiesced(self) -> AbstractContextManager[None]:
        """Does nothing: a copy taken while workers write is as good as any async state."""
        return contextlib.nullcontext()

    def counters(self) -> TrainingCounters:
        """Read the run's counters from the ps."""
        rows = self._counters.numpy()
        sums = rows.sum(axis=0)
        made, resume_point = int(sums[0]), self._resume_point
        return TrainingCounters(
            step=resume_point.step + made,
            examples=resume_point.examples + made * self._context.ctx.settings.examples_a_step,
            worker_steps=resume_point.plus(
                {str(index): int(row[0]) for index, row in enumerate(rows)}
            ),
            steps_since_start=made,
            loss_sum=float(sums[1]),
            metric_sums=dict(zip(self._context.trial.metrics, map(float, sums[2:]), strict=True)),
            origin_step=resume_point.step,
        )

    def _worker_batches(self) -> Any:
        def make() -> Any:
            index = tf.distribute.coordinator.experimental_get_current_worker_index()
            # A worker that comes back also shuffles in another order.
            made = tf.cast(tf.reduce_sum(self._counters[:, 0]), tf.int64)
            start = self._resume_point.step + made
            batches = worker_batches(self._context, index, start)
            # The index travels with the data: as an argument it would be sent with every call.
            return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(index).repeat(), batches))

        return iter(self._coordinator.create_per_worker_dataset(for_workers(make)))

    def _make_steps(self, batches: Any, steps: Any) -> None:
        index = tf.constant(0, tf.int64)
        sums = tf.zeros([self._gradients.measures], tf.float64)
        for _ in tf.range(steps):
            with shared_sends(self._context.ctx.settings.batch_size):
                index, (features, labels) = next(batches)
                sums += self._strategy.run(self._step, args=(features, labels))
        row = tf.concat([[tf.cast(steps, tf.float64)], sums], axis=0)
        self._counters.scatter_add(tf.IndexedSlices(row[tf.newaxis], index[tf.newaxis]))

    def _step(self, features: Any, labels: Any) -> Any:
        gradients, measures = self._gradients.of(features, labels)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return measures
