"""What a competent user writes by hand for the digits, with no tf-cluster: the thing compared with.

Every task runs this file with TF_CONFIG-like variables; the chief trains and prints `first step`.
"""

from __future__ import annotations

import os
import sys
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
import tf_keras
from sklearn.datasets import load_digits

K = 10
BATCH = 32


def main() -> None:
    """Serve for ever as ps or worker; train as chief."""
    release = os.environ["RELEASE"]
    workers = int(os.environ["WORKERS"])
    spec = tf.train.ClusterSpec(
        {
            "chief": [f"{release}-chief.{release}:2222"],
            "ps": [f"{release}-ps-0.{release}:2222"],
            "worker": [f"{release}-worker-{i}.{release}:2222" for i in range(workers)],
        }
    )
    kind = os.environ["TASK_TYPE"]
    if kind != "chief":
        index = int(os.environ.get("JOB_COMPLETION_INDEX", "0"))
        tf.distribute.Server(spec, job_name=kind, task_index=index, protocol="grpc")
        threading.Event().wait()
    train(spec, int(sys.argv[1]))


def train(spec: tf.train.ClusterSpec, steps: int) -> None:
    """Asynchronous parameter-server training, K steps a call."""
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        spec, rpc_layer="grpc", task_type="chief", task_id=0
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = tf_keras.Sequential(
            [
                tf_keras.layers.Input((8, 8, 1)),
                tf_keras.layers.Conv2D(16, 3, activation="relu"),
                tf_keras.layers.Flatten(),
                tf_keras.layers.Dense(10),
            ]
        )
        optimizer = tf_keras.optimizers.legacy.Adam(0.001)
        step_count = tf.Variable(0, dtype=tf.int64)

    def dataset(_: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
        images, labels = load_digits(return_X_y=True)
        images = (images / 16).astype(np.float32).reshape(-1, 8, 8, 1)
        data = tf.data.Dataset.from_tensor_slices((images, labels.astype(np.int64)))
        return data.shuffle(2000).repeat().batch(BATCH, drop_remainder=True).prefetch(2)

    @tf.function
    def call(iterator: tf.data.Iterator) -> None:
        def replica(features: tf.Tensor, labels: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                losses = tf_keras.losses.sparse_categorical_crossentropy(
                    labels, model(features, training=True), from_logits=True
                )
                loss = tf.reduce_sum(losses) / BATCH
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            step_count.assign_add(1)

        for _ in tf.range(K):
            strategy.run(replica, args=next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(dataset))
    coordinator.schedule(call, args=(iterator,))
    coordinator.join()
    print("first step", flush=True)
    while int(step_count.numpy()) < steps:
        for _ in range(20):
            coordinator.schedule(call, args=(iterator,))
        coordinator.join()
    print("done", flush=True)


main()
