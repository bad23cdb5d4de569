"""Makes all workers one TensorFlow cluster: configured before any operation, connected later."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

# tf.distribute's public functions set no time to register, and can't run before the trial.
from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
from tensorflow.python.eager import context as eager_context

from tf_cluster_trainer.config import Config
from tf_cluster_trainer.servers.serve import naming_a_taken_port
from tf_cluster_trainer.strategies.step import devices

# A task without a heartbeat for this long is lost. Most losses show at once, by a broken
# connection.
HEARTBEAT_SECONDS = 10


def configure(config: Config) -> None:
    """Tell TensorFlow, before its first operation, that this process will be one of a cluster.

    It connects nothing. The trial runs operations, and TensorFlow refuses this call after them.
    """
    # TensorFlow warns of tensors made before connecting: the trial leaves none.
    logging.getLogger("absl").setLevel(logging.ERROR)
    ours = eager_context.context()
    ours.configure_collective_ops(
        collective_leader=devices.worker(0),
        scoped_allocator_enabled_ops=("CollectiveReduce",),
        device_filters=(devices.worker_filter(config.task.index),),
    )
    ours.configure_coordination_service(
        service_type="standalone",
        service_leader=devices.worker(0),
        heartbeat_timeout_in_ms=HEARTBEAT_SECONDS * 1000,
        coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=config.cluster.size("worker"))],
    )


def connected_strategy(config: Config) -> Any:
    """Wait for all workers and return TensorFlow's strategy. Raises ConfigError if our port is
    taken.
    """
    addresses = config.cluster.cluster["worker"]
    address = addresses[config.task.index]
    with naming_a_taken_port(config.task.name, address, tf.errors.UnknownError):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec({"worker": list(addresses)}),
                task_type="worker",
                task_id=config.task.index,
                rpc_layer="grpc",
                num_accelerators={"GPU": len(tf.config.list_logical_devices("GPU"))},
            )
        )
    # The device "CPU:0" of the trial no longer exists. TensorFlow forgets it when it connects to
    # parameter servers, but not here.
    eager_context._device_parsing_cache.clear()
    return strategy
