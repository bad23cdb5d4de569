"""Handwritten digits: scikit-learn's 1797 images of 8 by 8 pixels and a small convolutional net.

The data comes with scikit-learn, so nothing is downloaded. A fifth is held out, chosen by a fixed
seed, and its accuracy is reported at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from tf_cluster_trainer import Context, Program

HELD_OUT = 360
SPLIT_SEED = 7


@dataclass(frozen=True)
class DigitsFlags:
    """`units`: the width of the hidden layer."""

    units: int = 64


class Digits(Program):
    """Classifies the images."""

    flags = DigitsFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        """Images [batch, 8, 8, 1] to logits [batch, 10]."""
        return tf_keras.Sequential(
            [
                tf_keras.layers.Input((8, 8, 1), name="image"),
                tf_keras.layers.Conv2D(16, 3, activation="relu", padding="same"),
                tf_keras.layers.MaxPool2D(),
                tf_keras.layers.Flatten(),
                tf_keras.layers.Dense(ctx.flags.units, activation="relu"),
                tf_keras.layers.Dense(10, name="logits"),
            ]
        )

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The images that are not held out, with their digits."""
        images, digits = _examples()
        return tf.data.Dataset.from_tensor_slices((images[HELD_OUT:], digits[HELD_OUT:]))

    def metrics(self, labels: Any, outputs: Any) -> Mapping[str, Any]:
        """1 for each image that was read right."""
        return {"accuracy": tf.cast(tf.equal(tf.argmax(outputs, axis=1), labels), tf.float32)}

    def evaluate(self, ctx: Context, model: tf_keras.Model) -> Mapping[str, float]:
        """Accuracy on the held-out images."""
        images, digits = _examples()
        logits = model(images[:HELD_OUT], training=False).numpy()
        return {"accuracy": float(np.mean(np.argmax(logits, axis=1) == digits[:HELD_OUT]))}


def _examples() -> tuple[Any, Any]:
    numbers = np.loadtxt(_file(), delimiter=",", dtype=np.float32)
    numbers = numbers[np.random.default_rng(SPLIT_SEED).permutation(len(numbers))]
    return numbers[:, :-1].reshape(-1, 8, 8, 1) / 16, numbers[:, -1].astype(np.int64)


def _file() -> Path:
    """What `sklearn.datasets.load_digits` reads. Its import takes a second of a start."""
    found = find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    return Path(found.origin).parent / "datasets/data/digits.csv.gz"
