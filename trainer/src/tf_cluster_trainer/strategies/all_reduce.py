"""all-reduce: every worker has a copy of the model and applies the mean gradient of all.

Built on tf.distribute.MultiWorkerMirroredStrategy. Why it is as it is:
docs/decisions/0007-all-reduce.md.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import tensorflow as tf

# What tf.distribute offers of these has neither the time to register nor a place before the
# trial.
from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
from tensorflow.python.eager import context

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.config import Config, ConfigError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program.context import DataShard
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.servers import connect, serve
from tf_cluster_trainer.strategies import optimizers, replica_lookups
from tf_cluster_trainer.strategies.gradients import Gradients, scaled, when_finite
from tf_cluster_trainer.strategies.trainee import Join, Joining

# After this long without a heartbeat a task is lost; most losses are seen at once, by a connection
# that breaks.
HEARTBEAT_SECONDS = 10
# Every worker starts its server in this: in pods that have little of a CPU it takes long.
CONNECT_SECONDS = 120.0
# The last of what a worker sends, a share of the model, may take so long; a lost one is noticed.
LAST_WORDS_SECONDS = 600
# CollectiveReduce takes these; other variables travel as int64.
_REDUCIBLE = (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64)


def announce(told: Config) -> None:
    """Tell TensorFlow that this process will be one of a cluster; before its first operation.

    Nothing is connected. The trial needs TensorFlow, and later this is refused.
    """
    # It warns of tensors made before connecting: the trial leaves none.
    logging.getLogger("absl").setLevel(logging.ERROR)
    ours = context.context()
    ours.configure_collective_ops(
        collective_leader=_task(0),
        scoped_allocator_enabled_ops=("CollectiveReduce",),
        device_filters=(f"/job:worker/task:{told.task.index}",),
    )
    ours.configure_coordination_service(
        service_type="standalone",
        service_leader=_task(0),
        heartbeat_timeout_in_ms=HEARTBEAT_SECONDS * 1000,
        coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=told.cluster.size("worker"))],
    )


def prepare(told: Config, prepared: Prepared) -> Join:
    """How to join: nothing of it can be done before the others are there."""
    return join


def join(joining: Joining) -> AllReduce:
    """Connect to all workers, each of which joins too.

    Raises ConfigError when this task's port is taken, or a batch is less than an example for each
    of its devices.
    """
    log(f"connecting to {joining.told.cluster.size('worker')} workers")
    with connect.killable(CONNECT_SECONDS):
        strategy = _connect(joining.told)
    # The others wait in TensorFlow while the client reads its checkpoint: no handler of ours runs.
    with connect.killable(0):
        return AllReduce(joining, strategy)


class AllReduce:
    """A model in every worker, and calls in which all make the same steps."""

    def __init__(self, joining: Joining, strategy: Any) -> None:
        told, program = joining.told, joining.program
        self._told = told
        self._strategy = strategy
        self._workers = told.cluster.size("worker")
        self._metrics = joining.trial.metrics
        self._replicas = strategy.num_replicas_in_sync // self._workers
        if told.settings.batch_size < self._replicas:
            raise ConfigError(
                f"train.batchSize is {told.settings.batch_size}, but each worker has "
                f"{self._replicas} devices that take a part of its batch"
            )
        replica_lookups.install()
        with strategy.scope():
            self._model = build_model(program, joining.ctx, joining.trial.features)
            self._optimizer = optimizers.make(
                told.settings.optimizer, lambda: self._origin.optimizer_lag
            )
            self._optimizer._create_all_weights(self._model.trainable_variables)
        model = checkpoint_variables.of_model(joining.trial.variables, self._model)
        slots = checkpoint_variables.of_optimizer(self._optimizer, model, self._model)
        model, slots = (tuple(map(self._here, stored)) for stored in (model, slots))
        self.copy = checkpoint_variables.Copy((*model, *slots), self._cpu)
        self._origin = self._restore(joining.restored(), model, slots)
        self._made = 0
        self._sums = np.zeros([1 + len(self._metrics)])
        self._ended_by: tuple[str, ...] = ()
        self._gradients = Gradients(
            program, self._model, self._metrics, told.settings.micro_batches
        )
        # Random layers draw other numbers in every worker.
        tf.random.set_seed(worker_input.seed(joining.ctx, told.task.index, self._origin.step))
        self._batches = self._own_batches(joining)
        self._call = tf.function(self._make_steps)

    def devices(self) -> dict[str, str]:
        """Where every trainable variable is."""
        return {v.name.partition(":")[0]: v.device for v in self._model.trainable_variables}

    def origin(self) -> ResumePoint:
        """Where this start began."""
        return self._origin

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make steps with all workers: as many as the client says, none when one was asked to end.

        False in every worker after the same step: at the run's total, or when one is to end.
        """
        asked = np.zeros([1 + self._workers], np.int64)
        if self._told.is_client:
            asked[0] = max(0, min(most, self._left()))
        asked[1 + self._told.task.index] = stop
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
        """What the run has done so far; the loss and metrics are the means over all workers."""
        examples = self._made * self._workers * self._told.settings.examples_a_step
        loss, *metrics = self._sums.tolist()
        return TrainingCounters(
            step=self._origin.step + self._made,
            examples=self._origin.examples + examples,
            workers=self._origin.plus({str(i): self._made for i in range(self._workers)}),
            steps_since_start=self._made,
            loss_sum=loss,
            metric_sums=dict(zip(self._metrics, metrics, strict=True)),
            origin_step=self._origin.step,
        )

    def leave(self) -> None:
        """Wait until all workers are through: what one still sends is lost when its process ends.

        A worker that is lost ends the wait: the steps are made, and worker 0 has their result.
        TensorFlow holds Python's lock meanwhile.
        """
        with contextlib.suppress(tf.errors.OpError):
            context.context().wait_at_barrier("through", LAST_WORDS_SECONDS * 1000)

    def ended_by(self) -> tuple[str, ...]:
        """Who was asked to end, which ended the steps of all."""
        return self._ended_by

    @property
    def _cpu(self) -> str:
        return f"{_task(self._told.task.index)}/device:CPU:0"

    def _left(self) -> int:
        return self._told.settings.steps - self._origin.step - self._made

    def _here(self, stored: StoredTensor) -> StoredTensor:
        """The same with this worker's first replica's: reading all takes all workers."""
        local = self._strategy.experimental_local_results
        return replace(stored, parts=tuple(local(part)[0] for part in stored.parts))

    def _own_batches(self, joining: Joining) -> Any:
        shard = DataShard(self._told.task.index, self._workers)
        pipeline = tf.distribute.InputContext(
            num_input_pipelines=shard.count,
            input_pipeline_id=shard.index,
            num_replicas_in_sync=self._strategy.num_replicas_in_sync,
        )
        # Not distributed by TensorFlow: it would shard the files or batch anew.
        with tf.device(self._cpu):
            return iter(
                worker_input.of_worker(
                    joining.program, joining.ctx, shard, self._origin.step, pipeline
                )
            )

    def _restore(
        self,
        restored: Checkpoint | None,
        model: Iterable[StoredTensor],
        slots: Iterable[StoredTensor],
    ) -> ResumePoint:
        """Give every worker what the client alone has read; where all go on from."""
        origin = restore.resume_point_of(restored, self._told.settings.optimizer.name)
        told = json.dumps(asdict(origin) if restored else None)
        said = json.loads(self._said_by_client(told))
        if said is None:
            return ResumePoint()
        if restored:
            restore.fill(restored, self._told.settings.optimizer.name, model, slots)
        self._spread([*self._model.variables, *self._optimizer.variables()])
        return ResumePoint(**said)

    def _said_by_client(self, text: str) -> str:
        """The client's text, in every worker."""
        ours = text.encode() if self._told.is_client else b""
        sums = tf.function(self._summed, input_signature=[tf.TensorSpec([None], tf.int64)])
        length = int(sums(tf.constant([len(ours)], tf.int64))[0])
        padded = np.zeros([length], np.int64)
        padded[: len(ours)] = list(ours)
        return bytes(sums(tf.constant(padded)).numpy().tolist()).decode()

    def _spread(self, variables: list[Any]) -> None:
        """Give every copy of the variables the value of the client's first.

        Each copy is assigned by itself: to assign a variable that every replica has a value of
        takes collectives, which must be the same in all workers.
        """

        def clients() -> list[Any]:
            replica = tf.distribute.get_replica_context()
            values = []
            for variable in variables:
                value = variable.read_value()
                if value.dtype not in _REDUCIBLE:
                    value = tf.cast(value, tf.int64)
                if _number(replica) != 0:
                    value = tf.zeros_like(value)
                values.append(replica.all_reduce(tf.distribute.ReduceOp.SUM, value))
            return values

        def assign() -> None:
            values = self._strategy.run(clients)
            for variable, value in zip(variables, values, strict=True):
                local = self._strategy.experimental_local_results(value)[0]
                self._assign(variable, tf.cast(local, variable.dtype))

        tf.function(assign, autograph=False)()

    def _assign(self, variable: Any, value: Any) -> None:
        for own in self._strategy.experimental_local_results(variable):
            own.assign(value)

    def _summed(self, ours: Any) -> Any:
        """The sum of all workers' vectors."""

        def of_replica() -> Any:
            replica = tf.distribute.get_replica_context()
            first = _number(replica) % self._replicas == 0
            mine = tf.identity(ours) if first else tf.zeros_like(ours)
            return replica.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        return self._strategy.experimental_local_results(self._strategy.run(of_replica))[0]

    def _make_steps(self, asked: Any) -> tuple[Any, Any]:
        """What all asked for, and the sums of the measures of the steps that were made."""
        agreed = self._summed(asked)
        steps = tf.where(tf.reduce_any(agreed[1:] > 0), tf.zeros([], tf.int64), agreed[0])
        sums = tf.zeros([self._gradients.measures], tf.float64)
        for _ in tf.range(steps):
            features, labels = next(self._batches)
            measures = self._strategy.run(self._step, args=(features, labels))
            sums += tf.cast(self._strategy.experimental_local_results(measures)[0], tf.float64)
        for variable in self._model.variables:
            if _of_each_replica(variable):
                self._assign(variable, variable.read_value())
        return agreed, sums

    def _step(self, features: Any, labels: Any) -> Any:
        """One update by this replica with all others; the means of the measures over all."""
        replica = tf.distribute.get_replica_context()
        rows = self._rows(replica)
        if self._replicas > 1:
            with tf.device(self._cpu):
                # Behind the axis of the batches, where a step has several.
                ours = rows if self._told.settings.micro_batches == 1 else (slice(None), rows)
                features, labels = tf.nest.map_structure(
                    lambda batch: batch[ours], (features, labels)
                )
        gradients, measures = self._gradients.unchecked(features, labels)
        of_all = (rows.stop - rows.start) / self._told.settings.batch_size / self._workers
        found = [
            (gradient, variable)
            for gradient, variable in zip(gradients, self._model.trainable_variables, strict=True)
            if gradient is not None
        ]
        # In float32, as most gradients are: TensorFlow then sends it together with them.
        sent = [*(gradient for gradient, _ in found), tf.cast(measures, tf.float32)]
        *means, mean_measures = _summed_together(replica, [scaled(one, of_all) for one in sent])
        # Every worker looks at the mean of all: one whose loss is not finite ends all, likewise.
        means = when_finite(mean_measures[0], means)
        self._optimizer.apply_gradients(
            [(mean, variable) for mean, (_, variable) in zip(means, found, strict=True)],
            experimental_aggregate_gradients=False,
        )
        return mean_measures

    def _rows(self, replica: Any) -> slice:
        """Which of the task's batch this replica takes."""
        batch, place = self._told.settings.batch_size, _number(replica) % self._replicas
        return slice(batch * place // self._replicas, batch * (place + 1) // self._replicas)


def _task(index: int) -> str:
    return f"/job:worker/replica:0/task:{index}"


def _connect(told: Config) -> Any:
    """Waits for all workers."""
    addresses = told.cluster.cluster["worker"]
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec({"worker": list(addresses)}),
                task_type="worker",
                task_id=told.task.index,
                rpc_layer="grpc",
                num_accelerators={"GPU": len(tf.config.list_logical_devices("GPU"))},
            )
        )
    except tf.errors.UnknownError as error:
        if serve.CANT_LISTEN not in error.message:
            raise
        raise serve.port_taken(told.task.name, addresses[told.task.index]) from None
    # What "CPU:0" meant in the trial is no device any more. TensorFlow forgets it when it
    # connects to parameter servers, and not here.
    context._device_parsing_cache.clear()
    return strategy


def _of_each_replica(variable: Any) -> bool:
    """Whether every replica has a value of its own, whose mean counts (moving averages)."""
    return bool(
        variable.synchronization == tf.VariableSynchronization.ON_READ
        and variable.aggregation == tf.VariableAggregation.MEAN
    )


def _number(replica: Any) -> int:
    """Which of all workers' replicas this is; in a graph TensorFlow gives it as a constant."""
    return int(tf.get_static_value(replica.replica_id_in_sync_group))


def _summed_together(replica: Any, values: list[Any]) -> list[Any]:
    """Each value's sum over all replicas. TensorFlow takes values of one type at once."""
    sums = list(values)
    for dtype in dict.fromkeys(value.dtype for value in values):
        places = [place for place, value in enumerate(values) if value.dtype == dtype]
        of_type = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, [values[place] for place in places]
        )
        for place, total in zip(places, of_type, strict=True):
            sums[place] = total
    return sums
