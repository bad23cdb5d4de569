"""parameter-server, in-graph, async: one client (the chief) sends calls of K steps to workers.

Built on tf.distribute.ParameterServerStrategy. Why it is as it is:
docs/decisions/0005-in-graph-async.md.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.strategies import optimizers, parameter_servers, worker_recovery
from tf_cluster_trainer.strategies.gradients import Gradients
from tf_cluster_trainer.strategies.parameter_servers import CHIEF, Making


def make(making: Making) -> InGraphAsync:
    """The training, with its variables on the ps."""
    return InGraphAsync(making)


class InGraphAsync:
    """A model on the ps and a queue of calls for the workers."""

    def __init__(self, making: Making) -> None:
        self._making = making
        self._metrics = making.trial.metrics
        self._strategy = making.strategy
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(making.strategy)
        self._recovery = worker_recovery.install(self._coordinator, log, making.lost)
        with making.strategy.scope():
            self.model = build_model(making.program, making.ctx, making.trial.features)
            self.optimizer = optimizers.make(
                making.ctx.settings.optimizer, lambda: making.origin.optimizer_lag
            )
            self.optimizer._create_all_weights(self.model.trainable_variables)
            # One row a worker: steps, sum of losses, sums of metrics. Only that worker writes it,
            # one call at a time, so no update is lost; float64 counts exactly to 2 ** 53.
            self._counters = tf.Variable(
                tf.zeros([making.workers, 2 + len(self._metrics)], tf.float64),
                trainable=False,
                name="tallies",
            )
        self._gradients = Gradients(
            making.program, self.model, self._metrics, making.ctx.settings.micro_batches
        )
        self._calls: dict[int, Any] = {}
        self._steps = tf.function(self._make_steps)
        self._batches = self._worker_batches()

    def devices(self) -> dict[str, str]:
        """Where every trainable variable is."""
        return parameter_servers.devices(self.model)

    def schedule(self, steps: int) -> None:
        """Queue one call of so many steps for whichever worker is free; raises a call's error."""
        if steps not in self._calls:
            with tf.device(CHIEF):
                self._calls[steps] = tf.constant(steps, tf.int64)
        self._coordinator.schedule(self._steps, args=(self._batches, self._calls[steps]))

    def outstanding(self) -> int:
        """Calls that are queued or under way; raises a call's error, or PeerLostError.

        The coordinator's public `done` says only whether there are none.
        """
        if self._coordinator.done():
            return 0
        self._recovery.check()
        queue = self._coordinator._cluster.closure_queue
        return int(queue._queue.qsize() + queue.inflight_closure_count)

    def quiesced(self) -> AbstractContextManager[None]:
        """Nothing is held up: a copy taken while workers write is as good as any async state."""
        return contextlib.nullcontext()

    def counters(self) -> TrainingCounters:
        """Read from the ps what was done."""
        rows = self._counters.numpy()
        sums = rows.sum(axis=0)
        made, origin = int(sums[0]), self._making.origin
        return TrainingCounters(
            step=origin.step + made,
            examples=origin.examples + made * self._making.ctx.settings.examples_a_step,
            workers=origin.plus({str(index): int(row[0]) for index, row in enumerate(rows)}),
            steps_since_start=made,
            loss_sum=float(sums[1]),
            metric_sums=dict(zip(self._metrics, map(float, sums[2:]), strict=True)),
            origin_step=origin.step,
        )

    def _worker_batches(self) -> Any:
        def make() -> Any:
            index = tf.distribute.coordinator.experimental_get_current_worker_index()
            # A worker that comes back goes on with other orders too.
            made = tf.cast(tf.reduce_sum(self._counters[:, 0]), tf.int64)
            start = self._making.origin.step + made
            batches = parameter_servers.batches(self._making, index, start)
            # The index travels with the data: as an argument it would be sent with every call.
            return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(index).repeat(), batches))

        for_workers = parameter_servers.for_workers(make)
        return iter(self._coordinator.create_per_worker_dataset(for_workers))

    def _make_steps(self, batches: Any, steps: Any) -> None:
        index = tf.constant(0, tf.int64)
        sums = tf.zeros([self._gradients.measures], tf.float64)
        for _ in tf.range(steps):
            index, (features, labels) = next(batches)
            sums += self._strategy.run(self._step, args=(features, labels))
        row = tf.concat([[tf.cast(steps, tf.float64)], sums], axis=0)
        self._counters.scatter_add(tf.IndexedSlices(row[tf.newaxis], index[tf.newaxis]))

    def _step(self, features: Any, labels: Any) -> Any:
        gradients, measures = self._gradients.of(features, labels)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return measures
