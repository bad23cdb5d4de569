"""The next word: a vocabulary, an embedding and a recurrent net (GRU), on any text file.

Where the run names no file, the text is the language reference that comes with Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from tf_cluster_trainer import Context, Program

LENGTH = 20  # words of a sequence
HELD_OUT_OF = 10  # every tenth sequence is held out
PADDING = 0  # the row that TextVectorization keeps for it; 1 is for words that are not in it


@dataclass(frozen=True)
class TextFlags:
    """`file`: a text below the data directory, or none. `words`: rows of the vocabulary."""

    file: str | None = None
    words: int = 2_000
    units: int = 64


class Text(Program):
    """Learns which word comes next."""

    flags = TextFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        """Rows of words [batch, length] to logits [batch, length, rows]."""
        return tf_keras.Sequential(
            [
                tf_keras.layers.Input((None,), dtype=tf.int64, name="words"),
                tf_keras.layers.Embedding(ctx.flags.words, ctx.flags.units),
                tf_keras.layers.GRU(ctx.flags.units, return_sequences=True),
                tf_keras.layers.Dense(ctx.flags.words, name="logits"),
            ]
        )

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The sequences that are not held out."""
        return _examples(ctx, held_out=False)

    def loss(self, labels: Any, outputs: Any) -> Any:
        """Cross-entropy of a word, averaged over the words of each sequence that are there."""
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        there = tf.cast(labels != PADDING, entropy.dtype)
        return tf.reduce_sum(entropy * there, axis=1) / tf.reduce_sum(there, axis=1)

    def evaluate(self, ctx: Context, model: tf_keras.Model) -> Mapping[str, float]:
        """Perplexity on the held-out sequences: as unsure as among so many words."""
        losses = [
            self.loss(following, model(words, training=False))
            for words, following in _examples(ctx, held_out=True).batch(128)
        ]
        return {"perplexity": float(tf.exp(tf.reduce_mean(tf.concat(losses, axis=0))))}


def _examples(ctx: Context, *, held_out: bool) -> tf.data.Dataset:
    """Rows of the words of a sequence but its last, and of those but its first."""
    words = _text(ctx).lower().split()
    sequences = [
        " ".join(words[start : start + LENGTH + 1]) for start in range(0, len(words) - 1, LENGTH)
    ]
    chosen = [
        line for number, line in enumerate(sequences) if (number % HELD_OUT_OF == 0) == held_out
    ]
    # Layers can't adapt here: the vocabulary is counted before, alike in every task. The table that
    # the layer makes of it is each worker's own.
    common = [word for word, _ in Counter(words).most_common(ctx.flags.words - 2)]
    rows = tf_keras.layers.TextVectorization(
        standardize=None, vocabulary=common, output_sequence_length=LENGTH + 1
    )

    def example(line: Any) -> tuple[Any, Any]:
        row = rows(line)
        return row[:-1], row[1:]

    return tf.data.Dataset.from_tensor_slices(np.array(chosen)).map(example)


def _text(ctx: Context) -> str:
    """Words and marks with spaces between them."""
    if ctx.flags.file is None:
        text = "\n".join(topics[name] for name in sorted(topics))
    else:
        text = (ctx.data_dir / ctx.flags.file).read_text(encoding="utf-8")
    return " ".join(re.findall(r"\w+|[^\w\s]", text))
