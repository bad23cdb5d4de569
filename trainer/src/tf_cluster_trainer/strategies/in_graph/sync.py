"""parameter-server, in-graph, sync: one chief, a tower on every worker, one update a step.

One function spans the cluster: every worker computes the gradients of its own batch, the ps
average them and apply one update. The chief only says how many steps a call makes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.in_graph.call_thread import CallThread
from tf_cluster_trainer.strategies.in_graph.cluster import build_on_ps, for_workers, scope
from tf_cluster_trainer.strategies.step import devices, optimizers
from tf_cluster_trainer.strategies.step.gradients import Gradients, check_finite
from tf_cluster_trainer.strategies.step.input import worker_batches
from tf_cluster_trainer.strategies.step.shared_sends import shared_sends


def make(context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> InGraphSync:
    """Make the training, with its variables on the ps."""
    return InGraphSync(context, strategy, resume_point)


class InGraphSync:
    """A model on the ps, and calls that all workers make together, one at a time."""

    def __init__(self, context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> None:
        self._context = context
        self._resume_point = resume_point
        self._metrics = context.trial.metrics
        with scope(strategy):
            self.model = build_on_ps(context)
            self.optimizer = optimizers.make(
                context.ctx.settings.optimizer, lambda: resume_point.optimizer_lag
            )
            self.optimizer._create_all_weights(self.model.trainable_variables)
            self._sums = tf.Variable(
                tf.zeros([2 + len(self._metrics)], tf.float64), trainable=False, name="tally"
            )
        self._gradients = Gradients(
            context.program, self.model, self._metrics, context.ctx.settings.micro_batches
        )
        self._towers = [devices.worker(index) for index in range(context.workers)]
        self._batches = [self._worker_batches(index) for index in range(context.workers)]
        self._steps = tf.function(self._make_steps)
        self._calls = CallThread(self._call)

    def devices(self) -> dict[str, str]:
        """The device of every trainable variable, by the variable's name."""
        return devices.of_variables(self.model)

    def schedule(self, steps: int) -> None:
        """Queue one call of `steps` steps. Raises a failed call's error."""
        self._calls.put(steps)

    def outstanding(self) -> int:
        """The number of calls queued or running. Raises a failed call's error."""
        return self._calls.outstanding()

    def quiesced(self) -> AbstractContextManager[None]:
        """Inside this context no call runs, so that reads see the state after a whole step."""
        return self._calls.paused()

    def counters(self) -> TrainingCounters:
        """Read the run's counters from the ps."""
        sums = self._sums.numpy()
        made, resume_point = int(sums[0]), self._resume_point
        workers = self._context.workers
        examples = made * workers * self._context.ctx.settings.examples_a_step
        return TrainingCounters(
            step=resume_point.step + made,
            examples=resume_point.examples + examples,
            worker_steps=resume_point.plus({str(index): made for index in range(workers)}),
            steps_since_start=made,
            loss_sum=float(sums[1]),
            metric_sums=dict(zip(self._metrics, map(float, sums[2:]), strict=True)),
            origin_step=resume_point.step,
        )

    def _call(self, steps: int) -> None:
        with tf.device(devices.CHIEF):
            count = tf.constant(steps, tf.int64)
        self._steps(count)

    def _worker_batches(self, index: int) -> Any:
        def make() -> Any:
            return worker_batches(self._context, index, self._resume_point.step)

        with tf.device(devices.worker_cpu(index)):
            return iter(for_workers(make)())

    def _make_steps(self, steps: Any) -> None:
        for _ in tf.range(steps):
            with shared_sends(self._context.ctx.settings.batch_size):
                self._step()

    def _step(self) -> None:
        gradients, measures = [], []
        for tower, batches in zip(self._towers, self._batches, strict=True):
            with tf.device(tower):
                features, labels = next(batches)
                one, measured = self._gradients.unchecked(features, labels)
            gradients.append(one)
            measures.append(measured)
        variables = self.model.trainable_variables
        averaged = [
            _mean(of_towers, variable)
            for variable, of_towers in zip(variables, zip(*gradients, strict=True), strict=True)
        ]
        with tf.device(self._sums.device):
            mean = tf.add_n(measures) / len(measures)
            # One check for all towers: checks in a function run one after the other and would
            # serialise the towers.
            finite = check_finite(mean[0])
        with tf.control_dependencies([finite]):
            self.optimizer.apply_gradients(
                zip(averaged, variables, strict=True),
                experimental_aggregate_gradients=False,  # it would have them fetched and sent back
            )
            with tf.device(self._sums.device):
                self._sums.assign_add(tf.concat([[tf.constant(1.0, tf.float64)], mean], axis=0))


def _mean(gradients: tuple[Any, ...], variable: Any) -> Any:
    """The towers' mean, computed where the variable is; None when no tower has a gradient."""
    if all(gradient is None for gradient in gradients):
        return None
    with tf.device(variable.device):
        if isinstance(gradients[0], tf.IndexedSlices):
            return tf.IndexedSlices(
                tf.concat([one.values for one in gradients], axis=0) / len(gradients),
                tf.concat([one.indices for one in gradients], axis=0),
                gradients[0].dense_shape,
            )
        return tf.add_n(gradients) / len(gradients)
