"""ParameterServerStrategy with a ClusterCoordinator by hand: `in_graph_async.py MODEL K`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import tensorflow as tf
from telling import tell_from_now_on

EPOCH = 20_000  # steps


def main() -> None:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
        ).join()
    work, steps_per_call = importlib.import_module(sys.argv[1]), int(sys.argv[2])
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model, optimizer = work.model(), work.optimizer()

    def step(features: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            loss = work.loss(labels, model(features, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    @tf.function
    def call(iterator: Any) -> None:
        for _ in tf.range(steps_per_call):
            strategy.run(step, args=next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(work.batches))
    coordinator.schedule(call, args=(iterator,))
    coordinator.join()
    tell_from_now_on(lambda: int(optimizer.iterations.numpy()))
    while True:
        for _ in range(max(2, EPOCH // steps_per_call)):
            coordinator.schedule(call, args=(iterator,))
        coordinator.join()


main()
