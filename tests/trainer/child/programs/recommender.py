"""Who likes what: two embeddings, their product, batch normalization and a dense layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

ITEMS, WIDTH, TASTES = 5_000, 16, 4
EXAMPLES = 200_000
LOOKED_AT = 20_000


@dataclass(frozen=True)
class RecommenderFlags:
    """`users`: rows of the larger table."""

    users: int = 20_000


@cache
def examples(users: int) -> tuple[dict[str, Any], Any]:
    """Users and items [n], and whether the one likes the other [n, 1].

    Some items are in many examples and most in few, as in life; users are alike.
    """
    chance = np.random.default_rng(5)
    user = chance.integers(0, users, EXAMPLES)
    item = (chance.zipf(1.2, EXAMPLES) - 1) % ITEMS
    likes = chance.normal(size=(users, TASTES))[user] * chance.normal(size=(ITEMS, TASTES))[item]
    liked = likes.sum(axis=1, keepdims=True) > 0
    return {"user": user, "item": item}, liked.astype(np.float32)


class Recommender(Program):
    """Learns it, and tells its mean loss over the first examples at the end."""

    flags = RecommenderFlags

    def build_model(self, ctx: Context) -> Any:
        user = tf_keras.Input((), dtype=tf.int64, name="user")
        item = tf_keras.Input((), dtype=tf.int64, name="item")
        of_user = tf_keras.layers.Embedding(ctx.flags.users, WIDTH, name="users")(user)
        of_item = tf_keras.layers.Embedding(ITEMS, WIDTH, name="items")(item)
        product = tf_keras.layers.Multiply()([of_user, of_item])
        normal = tf_keras.layers.BatchNormalization(name="normal")(product)
        return tf_keras.Model(
            {"user": user, "item": item}, tf_keras.layers.Dense(1, name="likes")(normal)
        )

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices(examples(ctx.flags.users))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return tf_keras.losses.binary_crossentropy(labels, outputs, from_logits=True)

    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        features, likes = examples(ctx.flags.users)
        outputs = model({name: column[:LOOKED_AT] for name, column in features.items()})
        return {"loss": float(tf.reduce_mean(self.loss(likes[:LOOKED_AT], outputs)))}
