"""The steps that all workers make together, in one function that TensorFlow traces."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_cluster_trainer.config import Settings
from tf_cluster_trainer.strategies.all_reduce.broadcast import (
    Broadcast,
    replica_number,
    summed_together,
)
from tf_cluster_trainer.strategies.step.gradients import Gradients, scaled, when_finite


class Steps:
    """`batches` are this worker's own; the device `cpu` splits them among its replicas."""

    def __init__(
        self,
        strategy: Any,
        broadcast: Broadcast,
        settings: Settings,
        *,
        model: Any,
        optimizer: Any,
        gradients: Gradients,
        batches: Any,
        cpu: str,
    ) -> None:
        self._strategy = strategy
        self._broadcast = broadcast
        self._settings = settings
        self._model = model
        self._optimizer = optimizer
        self._gradients = gradients
        self._batches = batches
        self._cpu = cpu

    def make(self, asked: Any) -> tuple[Any, Any]:
        """Return what all asked for, and the sums of the measures of the steps made."""
        agreed = self._broadcast.summed(asked)
        steps = tf.where(tf.reduce_any(agreed[1:] > 0), tf.zeros([], tf.int64), agreed[0])
        sums = tf.zeros([self._gradients.measures], tf.float64)
        for _ in tf.range(steps):
            features, labels = next(self._batches)
            measures = self._strategy.run(self._step, args=(features, labels))
            sums += tf.cast(self._strategy.experimental_local_results(measures)[0], tf.float64)
        for variable in self._model.variables:
            if _of_each_replica(variable):
                self._broadcast.assign(variable, variable.read_value())
        return agreed, sums

    def _step(self, features: Any, labels: Any) -> Any:
        """Make one update together with all replicas; return the means of the measures."""
        replica = tf.distribute.get_replica_context()
        rows = self._rows(replica)
        if self._broadcast.replicas > 1:
            with tf.device(self._cpu):
                # After the axis of the micro-batches, if a step has several.
                ours = rows if self._settings.micro_batches == 1 else (slice(None), rows)
                features, labels = tf.nest.map_structure(
                    lambda batch: batch[ours], (features, labels)
                )
        gradients, measures = self._gradients.unchecked(features, labels)
        of_all = (rows.stop - rows.start) / self._settings.batch_size / self._broadcast.workers
        found = [
            (gradient, variable)
            for gradient, variable in zip(gradients, self._model.trainable_variables, strict=True)
            if gradient is not None
        ]
        # In float32, as most gradients: TensorFlow then sends it together with them.
        sent = [*(gradient for gradient, _ in found), tf.cast(measures, tf.float32)]
        *means, mean_measures = summed_together(replica, [scaled(one, of_all) for one in sent])
        # Every worker checks the mean of all: one loss that is not finite ends all of them alike.
        means = when_finite(mean_measures[0], means)
        self._optimizer.apply_gradients(
            [(mean, variable) for mean, (_, variable) in zip(means, found, strict=True)],
            experimental_aggregate_gradients=False,
        )
        return mean_measures

    def _rows(self, replica: Any) -> slice:
        """The rows of the task's batch that this replica takes."""
        batch, place = self._settings.batch_size, replica_number(replica) % self._broadcast.replicas
        return slice(
            batch * place // self._broadcast.replicas,
            batch * (place + 1) // self._broadcast.replicas,
        )


def _of_each_replica(variable: Any) -> bool:
    """Whether every replica has its own value and their mean counts (moving averages)."""
    return bool(
        variable.synchronization == tf.VariableSynchronization.ON_READ
        and variable.aggregation == tf.VariableAggregation.MEAN
    )
