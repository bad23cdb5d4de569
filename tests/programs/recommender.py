"""Two towers as recommenders have them: large tables of users and items, of which few are seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

EXAMPLES = 4096


@dataclass(frozen=True)
class TowersFlags:
    """`users`, `items`: rows of the tables, of `width` floats each."""

    users: int = 1_000
    items: int = 100
    width: int = 64


class Towers(Program):
    """Whether a user likes an item: both even, or both odd."""

    flags = TowersFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        """Subclassed, so that its first call makes the variables."""
        return Likes(ctx.flags)

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """Pairs of users and items from all over the tables."""
        chance = np.random.default_rng(7)
        users = chance.choice(ctx.flags.users, 300)[chance.integers(0, 300, EXAMPLES)]
        items = chance.choice(ctx.flags.items, 100)[chance.integers(0, 100, EXAMPLES)]
        likes = (users % 2 == items % 2).astype(np.float32)
        features = {"user": users.astype(np.int64), "item": items.astype(np.int64)}
        return tf.data.Dataset.from_tensor_slices((features, likes[:, np.newaxis]))

    def loss(self, labels: Any, outputs: Any) -> Any:
        """Of each example."""
        return tf_keras.losses.binary_crossentropy(labels, outputs, from_logits=True)

    def evaluate(self, ctx: Context, model: tf_keras.Model) -> Mapping[str, float]:
        """The share of right answers, as a user would measure it."""
        batches = self.dataset(ctx, tf.distribute.InputContext()).batch(512)
        right = [
            np.mean((model.predict_on_batch(features) > 0) == (labels.numpy() > 0.5))
            for features, labels in batches
        ]
        return {"accuracy": float(np.mean(right))}


class Likes(tf_keras.Model):  # type: ignore[misc]
    """The product of what is known of the user and of the item."""

    def __init__(self, flags: TowersFlags) -> None:
        super().__init__()
        self.users = tf_keras.layers.Embedding(flags.users, flags.width, name="users")
        self.items = tf_keras.layers.Embedding(flags.items, flags.width, name="items")
        self.mix = tf_keras.layers.Dense(32, activation="relu", name="mix")
        self.out = tf_keras.layers.Dense(1, name="out")

    def call(self, features: Mapping[str, Any], training: bool = False) -> Any:
        """[batch, 1] logits."""
        both = self.users(features["user"]), self.items(features["item"])
        return self.out(self.mix(tf.concat([*both, both[0] * both[1]], -1)))
