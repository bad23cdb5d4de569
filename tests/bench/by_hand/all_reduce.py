"""MultiWorkerMirroredStrategy with a loop by hand: `all_reduce.py MODEL K`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import tensorflow as tf
from telling import Telling


def main() -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    work, steps_per_call = importlib.import_module(sys.argv[1]), int(sys.argv[2])
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        model, optimizer = work.model(), work.optimizer()

    def step(features: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = work.loss(labels, model(features, training=True))
            scaled = loss / replicas
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        return loss

    @tf.function
    def call(iterator: Any) -> None:
        for _ in tf.range(steps_per_call):
            strategy.run(step, args=next(iterator))

    iterator = iter(strategy.distribute_datasets_from_function(work.batches))
    telling, made = Telling(), 0
    while True:
        call(iterator)
        made += steps_per_call
        if telling.due():
            telling.tell(made)


main()
