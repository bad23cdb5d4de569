"""What both in-graph strategies share: the cluster, the model on the ps, a worker's examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context, DataShard
from tf_cluster_trainer.program.trial import Trial
from tf_cluster_trainer.servers import serve
from tf_cluster_trainer.strategies import tables

CHIEF = "/job:chief/replica:0/task:0/device:CPU:0"
SHARD_BYTES = 256 << 10


@dataclass(frozen=True)
class Making:
    """What a strategy is made from. `lost` is told the name of each task that is lost."""

    strategy: Any
    program: Program
    ctx: Context
    trial: Trial
    workers: int
    origin: ResumePoint
    lost: Callable[[str], None]


def connect(cluster: Cluster, computing_in: str) -> Any:
    """Connect this process, as the cluster's chief, to every worker and ps; the strategy.

    Large variables are cut in parts, one for each ps, where the model computes in float32:
    tf_keras can't read parts in another precision.

    Raises ConfigError when the chief's own port is taken.
    """
    try:
        return _strategy(cluster, cluster.size("ps") if computing_in == precision.FULL else 1)
    except tf.errors.UnknownError as error:
        if serve.CANT_LISTEN not in error.message:
            raise
        raise serve.port_taken("chief-0", cluster.cluster["chief"][0]) from None


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


def batches(making: Making, index: Any, start: Any) -> Any:
    """The endless batches of the worker of this index; see `input.of_worker`.

    TensorFlow has one input pipeline under parameter servers, whoever reads it.
    """
    shard = DataShard(index, making.workers)
    return worker_input.of_worker(
        making.program, making.ctx, shard, start, tf.distribute.InputContext()
    )


def for_workers(make: Callable[[], Any]) -> Any:
    """A tf.function of `make`, which gives a data set: the worker that runs it has its tables.

    Raises ProgramError when traced, where the data set uses what no worker can reach.
    """

    def making() -> Any:
        with tables.of_the_graph():
            dataset = make()
        _check_reach(tf.compat.v1.get_default_graph())
        return dataset

    # No AutoGraph: it would rewrite every library that the program reads its data with.
    return tf.function(making, autograph=False)


def _check_reach(graph: Any) -> None:
    """Of what a data set uses without having made it in its graph."""
    used = {outer.device for outer, _ in graph.captures if outer.dtype == tf.resource}
    if any(device.startswith("/job:localhost") for device in used):
        raise ProgramError(
            "dataset uses a table that was made before the cluster was connected; "
            "make it in dataset, anew each time that is called"
        )
    if CHIEF in used:
        log(
            "dataset makes a table inside a function (map, ...): every worker asks the chief for "
            "every example; make the table in dataset itself and use it there"
        )


def devices(model: Any) -> dict[str, str]:
    """Where every trainable variable is."""
    return {v.name.partition(":")[0]: v.device for v in model.trainable_variables}
