"""Programs with one fault each."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program


class Small(Program):
    """No fault: four numbers in, their sum out."""

    def build_model(self, ctx: Context) -> Any:
        return tf_keras.Sequential(
            [tf_keras.layers.Input((4,), name="numbers"), tf_keras.layers.Dense(1)]
        )

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        numbers = tf.random.stateless_uniform((256, 4), seed=(1, 2))
        return tf.data.Dataset.from_tensor_slices(
            (numbers, tf.reduce_sum(numbers, axis=1, keepdims=True))
        )


class NoDataset(Program):
    def build_model(self, ctx: Context) -> Any:
        return Small().build_model(ctx)

    def data_set(self, ctx: Context) -> None:
        """Not the hook's name."""


class NotAProgram:
    pass


class ScalarLoss(Small):
    def loss(self, labels: Any, outputs: Any) -> Any:
        return tf.reduce_mean(tf.square(labels - outputs))


class RaisesInLoss(Small):
    def loss(self, labels: Any, outputs: Any) -> Any:
        return _no_such_function(labels)  # type: ignore[name-defined]  # noqa: F821


class RaisesWhileTraining(Small):
    def loss(self, labels: Any, outputs: Any) -> Any:
        wrong = tf.reshape(outputs, [7, 7])  # a batch has not 49 outputs
        return tf.reduce_sum(wrong) + tf.reduce_mean(tf.square(labels - outputs), axis=1)


class AsksForAFlag(Small):
    def build_model(self, ctx: Context) -> Any:
        return tf_keras.Sequential(
            [tf_keras.layers.Input((4,)), tf_keras.layers.Dense(ctx.flags.unit)]
        )


class NamesAMissingFile(Small):
    def dataset(self, ctx: Context, input_context: Any) -> Any:
        records = tf.data.TFRecordDataset(str(ctx.data_dir / "missing.tfrecord"))
        return records.map(lambda record: (tf.zeros([4]), tf.zeros([1])))


class HasNoExamples(Small):
    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return super().dataset(ctx, input_context).take(0)


class LabelOutOfRange(Small):
    def build_model(self, ctx: Context) -> Any:
        return tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        numbers = super().dataset(ctx, input_context)
        return numbers.enumerate().map(lambda index, pair: (pair[0], index % 4))


class WithTable(Small):
    """No fault but under between-graph replication."""

    def build_model(self, ctx: Context) -> Any:
        layers = tf_keras.layers
        looked_up = layers.IntegerLookup(vocabulary=[0, 1], output_mode="int")
        return tf_keras.Sequential(
            [
                layers.Input((4,)),
                layers.Discretization([0.5]),
                looked_up,
                layers.Embedding(4, 2),
                layers.Flatten(),
                layers.Dense(1),
            ]
        )


class AdaptsALayer(Small):
    def build_model(self, ctx: Context) -> Any:
        lookup = tf_keras.layers.IntegerLookup()
        lookup.adapt([0, 1])
        return _of_categories(lookup, tf_keras.layers.Embedding(4, 2), tf_keras.layers.Flatten())


class WeighsWords(Small):
    def build_model(self, ctx: Context) -> Any:
        return _of_categories(
            tf_keras.layers.IntegerLookup(
                vocabulary=[0, 1], output_mode="tf_idf", idf_weights=[1.0, 2.0]
            )
        )


def _of_categories(*layers: Any) -> Any:
    inputs = [tf_keras.layers.Input((4,)), tf_keras.layers.Discretization([0.5])]
    return tf_keras.Sequential([*inputs, *layers, tf_keras.layers.Dense(1)])


class SignatureWithoutInputs(Small):
    def signatures(self, ctx: Context, model: Any) -> Any:
        return {"more": model.call}
