"""parameter-server, in-graph, async: one client (the chief) sends calls of K steps to workers.

Built on tf.distribute.ParameterServerStrategy. Why it is as it is:
docs/decisions/0005-in-graph-async.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tf_cluster_trainer import server
from tf_cluster_trainer.child.errors import HookError
from tf_cluster_trainer.child.say import say
from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.context import Context, DataShard
from tf_cluster_trainer.program import Program
from tf_cluster_trainer.strategies import input as worker_input
from tf_cluster_trainer.strategies import optimizers, worker_recovery
from tf_cluster_trainer.strategies.rehearsal import Rehearsal, build_model
from tf_cluster_trainer.strategies.tally import Tally

CHIEF = "/job:chief/replica:0/task:0/device:CPU:0"
SHARD_BYTES = 256 << 10
# Distance between the seeds of two workers, and of two starts: primes, so that they don't meet.
WORKER_SEEDS = 1_000_003
START_SEEDS = 7_919


def connect(cluster: Cluster) -> Any:
    """Connect this process, as the cluster's chief, to every worker and ps; the strategy.

    Raises ConfigError when the chief's own port is taken.
    """
    shards = cluster.size("ps")
    try:
        return _strategy(cluster, shards)
    except tf.errors.UnknownError as error:
        if server.CANT_LISTEN not in error.message:
            raise
        raise server.port_taken("chief-0", cluster.cluster["chief"][0]) from None


def _strategy(cluster: Cluster, shards: int) -> Any:
    return tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec({kind: list(hosts) for kind, hosts in cluster.cluster.items()}),
            task_type="chief",
            task_id=0,
            rpc_layer="grpc",
        ),
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=SHARD_BYTES, max_shards=shards
        )
        if shards > 1
        else None,
    )


class InGraphAsync:
    """A model on the ps and a queue of calls for the workers.

    `steps_made` are those of each worker before this start; workers that are no more keep theirs.
    """

    def __init__(
        self,
        *,
        strategy: Any,
        program: Program,
        ctx: Context,
        rehearsal: Rehearsal,
        workers: int,
        steps_made: Mapping[str, int],
    ) -> None:
        self._program = program
        self._metrics = rehearsal.metrics
        self._before = dict(steps_made)
        self._strategy = strategy
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._recovery = worker_recovery.install(self._coordinator, say)
        with strategy.scope():
            self.model = build_model(program, ctx, rehearsal.features)
            self.optimizer = optimizers.make(ctx.settings.optimizer)
            self.optimizer._create_all_weights(self.model.trainable_variables)
            # One row a worker: steps, sum of losses, sums of metrics. Only that worker writes it,
            # one call at a time, so no update is lost; float64 counts exactly to 2 ** 53.
            self._tallies = tf.Variable(
                tf.zeros([workers, 2 + len(self._metrics)], tf.float64),
                trainable=False,
                name="tallies",
            )
        self._calls: dict[int, Any] = {}
        self._steps = tf.function(self._make_steps)
        self._batches = self._worker_batches(ctx, workers)

    def devices(self) -> dict[str, str]:
        """Where every trainable variable is."""
        return {v.name.partition(":")[0]: v.device for v in self.model.trainable_variables}

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

    def tally(self) -> Tally:
        """Read from the ps what was done."""
        rows = self._tallies.numpy()
        now = {str(index): int(row[0]) for index, row in enumerate(rows)}
        sums = rows.sum(axis=0)
        return Tally(
            workers={
                name: self._before.get(name, 0) + now.get(name, 0)
                for name in sorted({*self._before, *now}, key=int)
            },
            counted=int(sums[0]),
            loss_sum=float(sums[1]),
            metric_sums=dict(zip(self._metrics, map(float, sums[2:]), strict=True)),
        )

    def _worker_batches(self, ctx: Context, workers: int) -> Any:
        def make() -> Any:
            index = tf.distribute.coordinator.experimental_get_current_worker_index()
            shard = DataShard(index, workers)
            try:
                examples = self._program.dataset(
                    replace(ctx, data_shard=shard), tf.distribute.InputContext()
                )
            except Exception as error:
                raise HookError("dataset", error) from error
            # The steps made so far are in the seed: who starts again goes on with other orders.
            made = tf.cast(tf.reduce_sum(self._tallies[:, 0]), tf.int64)
            start = made + sum(self._before.values())
            batches = worker_input.batches(
                examples,
                batch_size=ctx.settings.batch_size,
                seed=ctx.settings.seed + WORKER_SEEDS * (index + 1) + START_SEEDS * start,
                buffer=worker_input.shuffle_buffer(self._program, examples.element_spec),
            )
            # The index travels with the data: as an argument it would be sent with every call.
            return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(index).repeat(), batches))

        # No AutoGraph: it would rewrite every library that the program reads its data with.
        return iter(self._coordinator.create_per_worker_dataset(tf.function(make, autograph=False)))

    def _make_steps(self, batches: Any, steps: Any) -> None:
        index = tf.constant(0, tf.int64)
        sums = tf.zeros([1 + len(self._metrics)], tf.float64)
        for made in tf.range(steps):
            index, (features, labels) = next(batches)
            sums += self._strategy.run(self._step, args=(features, labels, made))
        row = tf.concat([[tf.cast(steps, tf.float64)], sums], axis=0)
        self._tallies.scatter_add(tf.IndexedSlices(row[tf.newaxis], index[tf.newaxis]))

    def _step(self, features: Any, labels: Any, made: Any) -> Any:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            outputs = self.model(features, training=True)
            loss = tf.reduce_mean(self._program.loss(labels, outputs))
            if self.model.losses:
                loss += tf.cast(tf.add_n(self.model.losses), loss.dtype)
        gradients = tape.gradient(loss, variables)
        finite = tf.debugging.Assert(
            tf.math.is_finite(loss), [NOT_FINITE, loss, made], name="loss_is_finite"
        )
        with tf.control_dependencies([finite]):
            gradients = tf.nest.map_structure(tf.identity, gradients, expand_composites=True)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        measured = self._program.metrics(labels, outputs)
        return tf.stack(
            [
                tf.cast(value, tf.float64)
                for value in (loss, *(tf.reduce_mean(measured[name]) for name in self._metrics))
            ]
        )


NOT_FINITE = "the loss is not finite:"
