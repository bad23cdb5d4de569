"""Programs whose exports have to load: a kind of layer each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

ROWS, WIDE = 12, 6
WORDS = ("a", "quick", "fox", "jumps", "over", "dogs")
layers = tf_keras.layers


class Numbers(Program):
    """Of numbers [6], without names of their own."""

    def build_model(self, ctx: Context) -> Any:
        numbers = layers.Input((WIDE,), name="numbers")
        return tf_keras.Model(numbers, layers.Dense(2)(self.seen(numbers)))

    def seen(self, numbers: Any) -> Any:
        return numbers

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        numbers = np.random.default_rng(5).normal(size=(ROWS, WIDE)).astype(np.float32)
        return tf.data.Dataset.from_tensor_slices((numbers, np.arange(ROWS) % 2))


class Convolved(Numbers):
    """Batch normalization, and what only training does."""

    def seen(self, numbers: Any) -> Any:
        image = layers.Reshape((3, 2, 1))(numbers)
        image = layers.BatchNormalization()(layers.Conv2D(4, 2, padding="same")(image))
        image = layers.SeparableConv2D(4, 2, padding="same", activation="relu")(image)
        return layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(image))


class Recurrent(Numbers):
    """Both recurrent layers, in both directions."""

    def seen(self, numbers: Any) -> Any:
        row = layers.Reshape((WIDE, 1))(numbers)
        row = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(row)
        return layers.GRU(4)(row)


class Attending(Numbers):
    """Attention with several heads, and layer normalization."""

    def seen(self, numbers: Any) -> Any:
        row = layers.Dense(8)(layers.Reshape((WIDE, 1))(numbers))
        row = layers.LayerNormalization()(row + layers.MultiHeadAttention(2, 4)(row, row))
        return layers.GlobalMaxPooling1D()(layers.Dense(8, activation="gelu")(row))


class Spoken(Program):
    """Strings into tables and embeddings; its outputs have names, and one is a string."""

    def build_model(self, ctx: Context) -> Any:
        words = layers.Input((3,), dtype=tf.string, name="words")
        place = layers.Input((), dtype=tf.int64, name="place")
        rows = layers.StringLookup(vocabulary=WORDS)(words)
        seen = layers.Flatten()(layers.Embedding(len(WORDS) + 1, 4)(rows))
        seen = layers.Concatenate()([seen, layers.Embedding(9, 4)(place)])
        scores = layers.Dense(2)(seen)
        first = layers.Lambda(lambda words: tf.strings.upper(words[:, 0]))(words)
        return tf_keras.Model({"words": words, "place": place}, {"scores": scores, "first": first})

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        chance = np.random.default_rng(6)
        words = chance.choice([*WORDS, "unknown, ü"], (ROWS, 3))
        features = {"words": words, "place": chance.integers(0, 9, ROWS)}
        return tf.data.Dataset.from_tensor_slices((features, np.arange(ROWS) % 2))

    def loss(self, labels: Any, outputs: Any) -> Any:
        return super().loss(labels, outputs["scores"])

    def signatures(self, ctx: Context, model: Any) -> Mapping[str, Any]:
        """Whole sentences, and a table that the model does not have."""
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["dog"], ["dogs"]), ""
        )

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="sentence")])
        def sentences(sentence: Any) -> Any:
            words = tf.strings.split(sentence).to_tensor(shape=[None, 3])
            known = table.lookup(words)
            words = tf.where(known == "", words, known)
            place = tf.zeros_like(sentence, tf.int64)
            return {"scores": model({"words": words, "place": place}, training=False)["scores"]}

        return {"sentences": sentences}


class Half(Numbers):
    """A layer with a type of its own: what it gives is bfloat16."""

    def build_model(self, ctx: Context) -> Any:
        numbers = layers.Input((WIDE,), name="numbers")
        scores = layers.Dense(2)(numbers)
        return tf_keras.Model(
            numbers, {"scores": scores, "half": layers.Dense(1, dtype="bfloat16")(numbers)}
        )

    def loss(self, labels: Any, outputs: Any) -> Any:
        return super().loss(labels, outputs["scores"])


ALL: Mapping[str, type[Program]] = {
    "batch-normalization": Convolved,
    "recurrent": Recurrent,
    "attention": Attending,
    "strings-and-tables": Spoken,
    "own-types": Half,
}
