"""Synchronous in-graph replication by hand, a tower a worker: `in_graph_sync.py MODEL K`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from telling import Telling

PS = "/job:ps/replica:0/task:0"


def mean(gradients: Sequence[Any]) -> Any:
    """Of all towers; rows of a table stay rows."""
    count = len(gradients)
    if not isinstance(gradients[0], tf.IndexedSlices):
        return tf.add_n(gradients) / count
    values = tf.concat([one.values for one in gradients], 0)
    ids = tf.concat([one.indices for one in gradients], 0)
    return tf.IndexedSlices(values / count, ids, gradients[0].dense_shape)


def main() -> None:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    if resolver.task_type in ("worker", "ps"):
        tf.distribute.Server(
            cluster, job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
        ).join()
    work, steps_per_call = importlib.import_module(sys.argv[1]), int(sys.argv[2])
    tf.config.experimental_connect_to_cluster(cluster, job_name="chief", task_index=0)
    workers = [f"/job:worker/replica:0/task:{i}" for i in range(cluster.num_tasks("worker"))]
    with tf.device(PS):
        model, optimizer = work.model(), work.optimizer()
    iterators = []
    for worker in workers:
        with tf.device(worker):
            iterators.append(iter(work.batches()))

    @tf.function
    def call() -> None:
        variables = model.trainable_variables
        for _ in tf.range(steps_per_call):
            towers = []
            for worker, iterator in zip(workers, iterators, strict=True):
                with tf.device(worker), tf.GradientTape() as tape:
                    features, labels = next(iterator)
                    loss = work.loss(labels, model(features, training=True))
                    towers.append(tape.gradient(loss, variables))
            with tf.device(PS):
                means = [mean(of_one) for of_one in zip(*towers, strict=True)]
                optimizer.apply_gradients(zip(means, variables, strict=True))

    telling, made = Telling(), 0
    while True:
        call()
        made += steps_per_call
        if telling.due():
            telling.tell(made)


main()
