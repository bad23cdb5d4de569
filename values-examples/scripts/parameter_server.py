"""Parameter servers the TensorFlow 2 way: the chief drives, workers and ps only serve.

It finds its cluster in TF_CONFIG, so it takes no arguments for that.
"""

import argparse
import os
from pathlib import Path

import tensorflow as tf

BATCH = 32
STEPS_OF_A_CALL = 10

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
options = parser.parse_args()

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    server.join()  # never returns: the supervisor ends it with the chief

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.zeros((4, 1)))
    bias = tf.Variable(tf.zeros((1,)))


def numbers() -> tf.data.Dataset:
    """Four numbers and their sum."""
    features = tf.random.stateless_uniform((2048, 4), seed=(1, 2))
    labels = tf.reduce_sum(features, axis=1, keepdims=True)
    return (
        tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(2048).repeat().batch(BATCH)
    )


def update(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """One step on a worker."""
    with tf.GradientTape() as tape:
        error = tf.matmul(features, weights) + bias - labels
        loss = tf.reduce_mean(tf.square(error))
    for variable, gradient in zip(
        [weights, bias], tape.gradient(loss, [weights, bias]), strict=True
    ):
        variable.assign_sub(0.1 * gradient)
    return loss


@tf.function
def call(iterator: tf.data.Iterator) -> tf.Tensor:
    """Several steps, for each is a call over the network otherwise."""
    loss = tf.constant(0.0)
    for _ in tf.range(STEPS_OF_A_CALL):
        loss = strategy.run(update, args=next(iterator))
    return loss


data = iter(coordinator.create_per_worker_dataset(numbers))
for _ in range(options.steps // STEPS_OF_A_CALL):
    last = coordinator.schedule(call, args=(data,))
coordinator.join()
print(f"{options.steps} steps, loss {last.fetch():.5f}, weights on {weights.device}")
numbers_found = [*weights.numpy().ravel(), *bias.numpy()]
Path(os.environ["LOG_DIR"], "weights.txt").write_text(" ".join(map(str, numbers_found)))
