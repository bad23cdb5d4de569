"""all-reduce: every worker has a copy of the model and applies the mean gradient of all.

Built on tf.distribute.MultiWorkerMirroredStrategy. Why it is as it is:
docs/decisions/0007-all-reduce.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context as eager_context

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.pieces import Piece, Written
from tf_cluster_trainer.checkpoint.reading import VariableState
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.config import Config, ConfigError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program.context import DataShard
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.servers import connect as peers
from tf_cluster_trainer.strategies.all_reduce import connect, first_values, replica_lookups
from tf_cluster_trainer.strategies.all_reduce.broadcast import Broadcast
from tf_cluster_trainer.strategies.all_reduce.steps import Steps
from tf_cluster_trainer.strategies.context import Join, StrategyContext
from tf_cluster_trainer.strategies.step import devices, optimizers, same_model, state_memory
from tf_cluster_trainer.strategies.step.gradients import Gradients

# Seconds in which every worker starts its server: with little CPU it takes long.
CONNECT_SECONDS = 120.0
# Seconds for the last of what a worker sends, a share of the model; a lost worker ends the wait.
LAST_WORDS_SECONDS = 600


def configure(config: Config) -> None:
    """Tell TensorFlow, before its first operation, that this process will be one of a cluster."""
    connect.configure(config)


def prepare(config: Config, prepared: Prepared) -> Join:
    """Return how to join: no part of it can be done before the others are there."""
    return join


def join(context: StrategyContext) -> AllReduce:
    """Connect to all workers, which join at the same time.

    Raises ConfigError if this task's port is taken, or if a batch has fewer examples than this
    worker has devices; ProgramError if the workers built different models.
    """
    log(f"connecting to {context.config.cluster.size('worker')} workers")
    with peers.killable(CONNECT_SECONDS):
        strategy = connect.connected_strategy(context.config)
    # The others wait in TensorFlow while the chief reads its checkpoint: our signal handlers can't
    # run.
    with peers.killable(0):
        return AllReduce(context, strategy)


class AllReduce:
    """One worker of all-reduce: a copy of the model, and calls in which all make the same steps."""

    holds_state = True

    def __init__(self, context: StrategyContext, strategy: Any) -> None:
        config, program = context.config, context.program
        settings, index = config.settings, config.task.index
        self._config = config
        self._metrics = context.trial.metrics
        self._broadcast = Broadcast(strategy, context.workers, is_chief=config.is_chief)
        if settings.batch_size < self._broadcast.replicas:
            raise ConfigError(
                f"train.batchSize is {settings.batch_size}, but each worker has "
                f"{self._broadcast.replicas} devices that take a part of its batch"
            )
        replica_lookups.install()
        first_values.install(strategy)
        if not tf.config.list_logical_devices("GPU"):
            state_memory.check_held(state_memory.state_bytes(context.trial, settings.optimizer))
        # Before the first variable: to make one, the workers exchange its value.
        own = same_model.fingerprint(context.trial.variables, context.trial.trained)
        same_model.check(self._broadcast.gathered(own, index))
        with strategy.scope():
            self._model = build_model(program, context.ctx, context.trial.features)
            optimizer = optimizers.make(
                settings.optimizer, lambda: self._resume_point.optimizer_lag
            )
            optimizer._create_all_weights(self._model.trainable_variables)
        model = checkpoint_variables.of_model(context.trial.variables, self._model)
        slots = checkpoint_variables.of_optimizer(optimizer, model, self._model)
        here = partial(_here, strategy)
        model, slots = (tuple(map(here, stored)) for stored in (model, slots))
        cpu = devices.worker_cpu(index)
        self._state = VariableState((*model, *slots), cpu, by_rows=False)
        self._resume_point = self._restore(context, model, slots, optimizer)
        self._made = 0
        self._sums = np.zeros([1 + len(self._metrics)])
        self._ended_by: tuple[str, ...] = ()
        # Random layers must draw different numbers in each worker.
        tf.random.set_seed(worker_input.seed(context.ctx, index, self._resume_point.step))
        self._steps = Steps(
            strategy,
            self._broadcast,
            settings,
            model=self._model,
            optimizer=optimizer,
            gradients=Gradients(
                program, self._model, self._metrics, settings.micro_batches, rows_once=False
            ),
            batches=_batches(context, strategy, self._resume_point.step),
            cpu=cpu,
        )
        self._call = tf.function(self._steps.make)

    def devices(self) -> dict[str, str]:
        """The device of every trainable variable, by the variable's name."""
        return devices.of_variables(self._model)

    def ps_bytes(self) -> Mapping[str, int]:
        """Nothing: there are no ps."""
        return {}

    def resume_point(self) -> ResumePoint:
        """Where this start began."""
        return self._resume_point

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make steps with all workers: as many as the chief wants, none if one was asked to end.

        Returns False in every worker after the same step: at the run's total, or if one was asked
        to end.
        """
        asked = np.zeros([1 + self._broadcast.workers], np.int64)
        if self._config.is_chief:
            asked[0] = max(0, min(most, self._left()))
        asked[1 + self._config.task.index] = stop
        agreed, sums = self._call(tf.constant(asked))
        made, *stops = agreed.numpy().tolist()
        if any(stops):
            self._ended_by = tuple(f"worker-{i}" for i, one in enumerate(stops) if one)
            return False
        self._made += made
        self._sums += sums.numpy()
        return self._left() > 0

    def made(self) -> int:
        """Steps made since this start."""
        return self._made

    def counters(self) -> TrainingCounters:
        """The run's counters so far; loss and metrics are the means over all workers."""
        workers = self._broadcast.workers
        examples = self._made * workers * self._config.settings.examples_a_step
        loss, *metrics = self._sums.tolist()
        return TrainingCounters(
            step=self._resume_point.step + self._made,
            examples=self._resume_point.examples + examples,
            worker_steps=self._resume_point.plus({str(i): self._made for i in range(workers)}),
            steps_since_start=self._made,
            loss_sum=loss,
            metric_sums=dict(zip(self._metrics, metrics, strict=True)),
            origin_step=self._resume_point.step,
        )

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The tensors of a checkpoint, by key."""
        return self._state.specs

    def pieces(self, into: Path | None = None) -> Iterator[Sequence[Piece | Written]]:
        """Read all of the state from this process' variables; no ps writes any of it."""
        return self._state.pieces()

    def leave(self) -> None:
        """Wait until all workers are done: what a worker still sends is lost when its process ends.

        A lost worker ends the wait: the steps are made, and worker 0 has their result. TensorFlow
        holds Python's lock meanwhile.
        """
        with contextlib.suppress(tf.errors.OpError):
            eager_context.context().wait_at_barrier("through", LAST_WORDS_SECONDS * 1000)

    def ended_by(self) -> tuple[str, ...]:
        """The tasks that were asked to end, which ended the steps of all."""
        return self._ended_by

    def _left(self) -> int:
        return self._config.settings.steps - self._resume_point.step - self._made

    def _restore(
        self,
        context: StrategyContext,
        model: Iterable[StoredTensor],
        slots: Iterable[StoredTensor],
        optimizer: Any,
    ) -> ResumePoint:
        """Give every worker the checkpoint that the chief has read; return the resume point.

        Of a new run: give them the chief's first values of what TensorFlow did not send.
        """
        restored, name = context.restored(), self._config.settings.optimizer.name
        resume_point = restore.resume_point_of(restored, name)
        text = json.dumps(asdict(resume_point) if restored else None)
        said = json.loads(self._broadcast.text_of_chief(text))
        variables = [*self._model.variables, *optimizer.variables()]
        if said is None:
            unsent = [one for one in variables if not first_values.is_sent(one)]
            self._broadcast.variables_of_chief(unsent)
            return ResumePoint()
        if restored:
            restore.fill(restored, name, model, slots, context.check_owner)
        self._broadcast.variables_of_chief(variables)
        return ResumePoint(**said)


def _here(strategy: Any, stored: StoredTensor) -> StoredTensor:
    """The same with the values of this worker's first replica: reading all of them takes all
    workers.
    """
    local = strategy.experimental_local_results
    return replace(stored, parts=tuple(local(part)[0] for part in stored.parts))


def _batches(context: StrategyContext, strategy: Any, start: int) -> Any:
    """This worker's examples from the run's step `start` on."""
    shard = DataShard(context.config.task.index, context.workers)
    pipeline = tf.distribute.InputContext(
        num_input_pipelines=shard.count,
        input_pipeline_id=shard.index,
        num_replicas_in_sync=strategy.num_replicas_in_sync,
    )
    # Not distributed by TensorFlow, which would shard the files or batch again.
    with tf.device(devices.worker_cpu(shard.index)):
        return iter(worker_input.of_worker(context.program, context.ctx, shard, start, pipeline))
