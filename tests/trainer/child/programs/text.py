"""Sentences of two kinds, told apart by their words: TFRecords, a lookup table, a GRU.

A word's row in the embedding is its place in a vocabulary, which no other rule gives. So nothing is
learnt where the table is empty, or differs between two workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program

WORDS, LENGTH, UNITS = 2000, 16, 24
TRAINED, HELD_OUT = "train.tfrecord", "held-out.tfrecord"
VOCABULARY, NUMBERS = "vocabulary.txt", "numbers.txt"
FIRST_NUMBER = 7_000_000
# Rows of the embedding before or after the vocabulary's, whichever way it is looked up: words that
# are not in it, and what Keras' layers keep 0 for.
MORE_ROWS = 2

Lookup = Literal[
    "none",
    "hash",
    "vocabulary",
    "file",
    "strings",
    "strings-file",
    "integers",
    "vectorization",
    "model",
]


@dataclass(frozen=True)
class TextFlags:
    """`lookup`: what makes rows of words.

    "none" reads the rows from the records, "model" leaves the words to a layer of the model. All
    others are tables in `dataset`.
    """

    lookup: Lookup = "vocabulary"


class Text(Program):
    """Tells the kind of a sentence."""

    flags = TextFlags

    def build_model(self, ctx: Context) -> Any:
        if ctx.flags.lookup == "model":
            inputs = [
                tf_keras.layers.Input((LENGTH,), dtype=tf.string, name="words"),
                tf_keras.layers.StringLookup(vocabulary=_lines(ctx, VOCABULARY)),
            ]
        else:
            inputs = [tf_keras.layers.Input((LENGTH,), dtype=tf.int64, name="rows")]
        return tf_keras.Sequential(
            [
                *inputs,
                tf_keras.layers.Embedding(WORDS + MORE_ROWS, 16),
                tf_keras.layers.GRU(UNITS),
                tf_keras.layers.Dense(2, name="logits"),
            ]
        )

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return _examples(ctx, TRAINED)

    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        """Accuracy on the sentences that are held out."""
        right = [
            tf.equal(tf.argmax(model(rows, training=False), axis=1), kinds)
            for rows, kinds in _examples(ctx, HELD_OUT).batch(256)
        ]
        return {"accuracy": float(tf.reduce_mean(tf.cast(tf.concat(right, 0), tf.float32)))}


def write(directory: Path, *, trained: int = 4096, held_out: int = 512) -> None:
    """Records of so many sentences each, and the vocabularies, one entry a line."""
    directory.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(11)
    words = np.array([f"word{number}" for number in range(WORDS)])
    places = chance.permutation(WORDS)  # of the words in the vocabulary
    order = np.argsort(places)
    _write_lines(directory / VOCABULARY, words[order])
    _write_lines(directory / NUMBERS, FIRST_NUMBER + order)
    for name, sentences in ((TRAINED, trained), (HELD_OUT, held_out)):
        with tf.io.TFRecordWriter(str(directory / name)) as writer:
            for _ in range(sentences):
                kind = int(chance.integers(2))
                # Four of five words are of the kind's half.
                half = np.where(chance.random(LENGTH) < 0.8, kind, 1 - kind)
                chosen = half * (WORDS // 2) + chance.integers(WORDS // 2, size=LENGTH)
                writer.write(_record(words[chosen], FIRST_NUMBER + chosen, places[chosen], kind))


def _write_lines(file: Path, entries: Any) -> None:
    file.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf-8")


def _record(words: Any, numbers: Any, rows: Any, kind: int) -> bytes:
    sentence = " ".join(words).encode()

    def integers(values: Any) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {
        "sentence": tf.train.Feature(bytes_list=tf.train.BytesList(value=[sentence])),
        "words": tf.train.Feature(
            bytes_list=tf.train.BytesList(value=[word.encode() for word in words])
        ),
        "numbers": integers(numbers),
        "rows": integers(rows),
        "kind": integers([kind]),
    }
    record = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(record.SerializeToString())


def _examples(ctx: Context, name: str) -> Any:
    field, dtype, rows = _lookup(ctx)

    def example(record: Any) -> Any:
        shape = () if field == "sentence" else (LENGTH,)
        parsed = tf.io.parse_single_example(
            record,
            {
                field: tf.io.FixedLenFeature(shape, dtype),
                "kind": tf.io.FixedLenFeature((), tf.int64),
            },
        )
        return tf.ensure_shape(rows(parsed[field]), (LENGTH,)), parsed["kind"]

    return tf.data.TFRecordDataset(str(ctx.data_dir / name)).map(example)


def _lookup(ctx: Context) -> tuple[str, Any, Any]:
    """The record's field, its type, and what makes rows of it."""
    lookup = ctx.flags.lookup
    file = str(ctx.data_dir / VOCABULARY)
    layers = tf_keras.layers
    if lookup == "none":
        return "rows", tf.int64, lambda rows: rows
    if lookup == "model":
        return "words", tf.string, lambda words: words
    if lookup == "hash":
        table = tf.lookup.StaticHashTable(_of_tensors(ctx), default_value=WORDS)
        return "words", tf.string, table.lookup
    if lookup == "vocabulary":
        return "words", tf.string, tf.lookup.StaticVocabularyTable(_of_tensors(ctx), 1).lookup
    if lookup == "file":
        index = tf.lookup.TextFileIndex
        lines = tf.lookup.TextFileInitializer(
            file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
        )
        return "words", tf.string, tf.lookup.StaticVocabularyTable(lines, 1).lookup
    if lookup == "strings":
        return "words", tf.string, layers.StringLookup(vocabulary=_lines(ctx, VOCABULARY))
    if lookup == "strings-file":
        return "words", tf.string, layers.StringLookup(vocabulary=file)
    if lookup == "integers":
        numbers = [int(line) for line in _lines(ctx, NUMBERS)]
        return "numbers", tf.int64, layers.IntegerLookup(vocabulary=numbers)
    vectorization = layers.TextVectorization(
        output_sequence_length=LENGTH, vocabulary=_lines(ctx, VOCABULARY)
    )
    return "sentence", tf.string, vectorization


def _of_tensors(ctx: Context) -> Any:
    words = _lines(ctx, VOCABULARY)
    return tf.lookup.KeyValueTensorInitializer(
        words, np.arange(len(words)), key_dtype=tf.string, value_dtype=tf.int64
    )


def _lines(ctx: Context, name: str) -> list[str]:
    return (ctx.data_dir / name).read_text(encoding="utf-8").split()
