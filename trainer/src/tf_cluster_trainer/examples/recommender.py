"""Who likes what: an embedding for users, one for items, and a bias for each (factorization).

The ratings are a file of MovieLens' form (`userId,movieId,rating,timestamp` and a first line that
says so) below the data directory, or made up where the run names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from tf_cluster_trainer import Context, Program

HELD_OUT_OF = 10  # every tenth rating is held out
MEAN_RATING = 3.5
MADE_UP, TASTES = 200_000, 4


@dataclass(frozen=True)
class RecommenderFlags:
    """`ratings`: a file below the data directory, or none. Rows of the tables and their width.

    Ids beyond the number of rows share rows with others.
    """

    ratings: str | None = None
    users: int = 5_000
    items: int = 1_000
    width: int = 8


class Recommender(Program):
    """Foretells ratings."""

    flags = RecommenderFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        """Rows of users and of items [batch] to ratings [batch, 1]."""
        user = tf_keras.Input((), dtype=tf.int64, name="user")
        item = tf_keras.Input((), dtype=tf.int64, name="item")

        def table(name: str, rows: int, width: int, start: str = "zeros") -> Any:
            return tf_keras.layers.Embedding(rows, width, start, name=name)

        # On parameter servers a large table is in parts, and a step moves only the rows it needs.
        product = tf_keras.layers.Dot(axes=1)(
            [
                table("users", ctx.flags.users, ctx.flags.width, "uniform")(user),
                table("items", ctx.flags.items, ctx.flags.width, "uniform")(item),
            ]
        )
        biases = [table("user_bias", ctx.flags.users, 1)(user)]
        biases += [table("item_bias", ctx.flags.items, 1)(item)]
        rating = tf_keras.layers.Add()([product, *biases]) + MEAN_RATING
        return tf_keras.Model({"user": user, "item": item}, {"rating": rating})

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The ratings that are not held out."""
        return _ratings(ctx, held_out=False)

    def loss(self, labels: Any, outputs: Any) -> Any:
        """The squared error of each rating."""
        return tf.math.squared_difference(labels, outputs["rating"][:, 0])

    def evaluate(self, ctx: Context, model: tf_keras.Model) -> Mapping[str, float]:
        """The root of the mean squared error on the held-out ratings, and that of MEAN_RATING."""
        error = tf_keras.metrics.RootMeanSquaredError()
        of_mean = tf_keras.metrics.RootMeanSquaredError()
        for features, labels in _ratings(ctx, held_out=True).batch(4096):
            error.update_state(labels, model(features, training=False)["rating"][:, 0])
            of_mean.update_state(labels, tf.fill(tf.shape(labels), MEAN_RATING))
        return {"rmse": float(error.result()), "baseline_rmse": float(of_mean.result())}


def _ratings(ctx: Context, *, held_out: bool) -> tf.data.Dataset:
    if ctx.flags.ratings is None:
        rows = tf.data.Dataset.from_tensor_slices(_made_up(ctx.flags.users, ctx.flags.items))
    else:
        file = ctx.data_dir / ctx.flags.ratings
        if not file.is_file():
            raise FileNotFoundError(f"{file} is missing: copy a ratings.csv of MovieLens there")
        rows = tf.data.experimental.CsvDataset(
            str(file), [tf.int64, tf.int64, tf.float32], header=True, select_cols=[0, 1, 2]
        )

    def wanted(number: Any, row: Any) -> Any:
        return tf.equal(tf.equal(number % HELD_OUT_OF, 0), held_out)

    def example(number: Any, row: Any) -> Any:
        user, item, rating = row
        return {"user": user % ctx.flags.users, "item": item % ctx.flags.items}, rating

    return rows.enumerate().filter(wanted).map(example)


def _made_up(users: int, items: int) -> tuple[Any, Any, Any]:
    """Users and items whose tastes agree or not. Few items have most of the ratings."""
    chance = np.random.default_rng(5)
    user = chance.integers(0, users, MADE_UP)
    item = (items * chance.random(MADE_UP) ** 3).astype(np.int64)
    tastes = chance.normal(size=(users, TASTES)), chance.normal(size=(items, TASTES))
    agreement = (tastes[0][user] * tastes[1][item]).sum(axis=1) / 2
    return user, item, np.clip(np.round(MEAN_RATING + agreement), 1, 5).astype(np.float32)
