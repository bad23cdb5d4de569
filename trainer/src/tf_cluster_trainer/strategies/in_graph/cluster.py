"""What both in-graph strategies share: the connected cluster, and data sets made on workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import precision, tables
from tf_cluster_trainer.servers.serve import naming_a_taken_port
from tf_cluster_trainer.strategies.in_graph import recurrent
from tf_cluster_trainer.strategies.step import devices

SHARD_BYTES = 256 << 10


def connected_strategy(cluster: Cluster, computing_in: str) -> Any:
    """Connect this process, the chief, to every worker and ps; return TensorFlow's strategy.

    Large variables are partitioned among the ps if the model computes in float32: tf_keras can't
    read partitions in another precision. Raises ConfigError if the chief's own port is taken.
    """
    recurrent.read_parts_too()
    address = cluster.cluster["chief"][0]
    with naming_a_taken_port("chief-0", address, tf.errors.UnknownError):
        return _strategy(cluster, cluster.size("ps") if computing_in == precision.FULL else 1)


def _strategy(cluster: Cluster, shards: int) -> Any:
    return tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster.spec()),
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


def for_workers(make: Callable[[], Any]) -> Any:
    """Wrap `make`, which returns a data set, in a tf.function with its tables on the worker.

    Tracing raises ProgramError if the data set uses what no worker can reach.
    """

    def of_worker() -> Any:
        with tables.of_the_graph():
            dataset = make()
        _check_reach(tf.compat.v1.get_default_graph())
        return dataset

    # No AutoGraph: it would rewrite every library that the program reads its data with.
    return tf.function(of_worker, autograph=False)


def _check_reach(graph: Any) -> None:
    """Raise ProgramError if a data set uses what no worker can reach; log slow tables."""
    used = {outer.device for outer, _ in graph.captures if outer.dtype == tf.resource}
    if any(device.startswith("/job:localhost") for device in used):
        raise ProgramError(
            "dataset uses a table that was made before the cluster was connected; "
            "make a new one in each call of dataset"
        )
    if devices.CHIEF in used:
        log(
            "dataset makes a table inside a function (map, ...): every worker asks the chief for "
            "every example; make the table in dataset itself and use it there"
        )
