"""Recurrent layers as wide as users have them, whose kernels are cut in parts on two ps."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

WORDS, LENGTH, UNITS = 3000, 6, 160
EXAMPLES = 2000


class Recurrent(Program):
    """Tells whether a sentence's first word is of the lower half."""

    def build_model(self, ctx: Context) -> Any:
        layers = tf_keras.layers
        words = layers.Input((LENGTH,), dtype=tf.int64)
        seen = layers.Embedding(WORDS, 32)(words)
        seen = layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True))(seen)
        return tf_keras.Model(words, layers.Dense(2)(layers.GRU(UNITS)(seen)))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        words = np.random.default_rng(1).integers(0, WORDS, (EXAMPLES, LENGTH))
        return tf.data.Dataset.from_tensor_slices((words, (words[:, 0] < WORDS // 2).astype(int)))
