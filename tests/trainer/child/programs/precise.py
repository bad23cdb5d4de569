"""Digits, and says so when it does not train in bfloat16."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context
from tf_cluster_trainer.examples.digits import Digits


class Witness(tf_keras.layers.Layer):  # type: ignore[misc]
    """Passes on what it gets, which in training must be bfloat16 and else float32."""

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is not None:
            expected = tf.bfloat16 if training else tf.float32
            if inputs.dtype != expected:
                raise TypeError(f"{inputs.dtype} with training={training}")
        return inputs


class Precise(Digits):
    """One variable is large enough to be cut in parts, and a moving average is no weight."""

    def build_model(self, ctx: Context) -> Any:
        layers = tf_keras.layers
        return tf_keras.Sequential(
            [
                layers.Input((8, 8, 1), name="image"),
                layers.Flatten(),
                layers.Dense(2400, activation="relu", name="large"),
                layers.BatchNormalization(),
                Witness(),
                layers.Dense(10, name="logits"),
            ]
        )

    def loss(self, labels: Any, outputs: Any) -> Any:
        if outputs.dtype != tf.float32:
            raise TypeError(f"loss was given {outputs.dtype}")
        return super().loss(labels, outputs)
