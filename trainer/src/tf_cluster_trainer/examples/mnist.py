"""MNIST: 70,000 handwritten digits of 28 by 28 pixels and a convolutional net.

Its four IDX files lie in `mnist/` of the data directory. What is missing there is fetched once.
Files of the same form, as Fashion-MNIST's, can be copied there instead, packed (.gz) or not.
"""

from __future__ import annotations

import gzip
import hashlib
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from uuid import uuid4

import tensorflow as tf
import tf_keras

from tf_cluster_trainer import Context, Program

FOLDER = "mnist"
SIDE = 28
SHA256 = {
    "train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
}


@dataclass(frozen=True)
class MnistFlags:
    """`mirror`: the address to fetch from; "" fetches nothing. `units`: the hidden layer's."""

    mirror: str = "https://storage.googleapis.com/cvdf-datasets/mnist"
    units: int = 128


class Mnist(Program):
    """Classifies the images."""

    flags = MnistFlags

    def build_model(self, ctx: Context) -> tf_keras.Model:
        """Images [batch, 28, 28, 1] to logits [batch, 10]."""
        return tf_keras.Sequential(
            [
                tf_keras.layers.Input((SIDE, SIDE, 1), name="image"),
                tf_keras.layers.Conv2D(32, 3, activation="relu", padding="same"),
                tf_keras.layers.MaxPool2D(),
                tf_keras.layers.Conv2D(64, 3, activation="relu", padding="same"),
                tf_keras.layers.MaxPool2D(),
                tf_keras.layers.Flatten(),
                tf_keras.layers.Dense(ctx.flags.units, activation="relu"),
                tf_keras.layers.Dropout(0.4),
                tf_keras.layers.Dense(10, name="logits"),
            ]
        )

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The training set; each worker reads the files itself."""
        for name in SHA256:
            _file(ctx, name)  # the test set's too: it would be late to miss them at the end
        return _examples(ctx, "train")

    def metrics(self, labels: Any, outputs: Any) -> Mapping[str, Any]:
        """1 for each image that was read right."""
        return {"accuracy": tf.cast(tf.equal(tf.argmax(outputs, axis=1), labels), tf.float32)}

    def evaluate(self, ctx: Context, model: tf_keras.Model) -> Mapping[str, float]:
        """Accuracy on the test set."""
        right = tf_keras.metrics.SparseCategoricalAccuracy()
        for images, labels in _examples(ctx, "t10k").batch(500):
            right.update_state(labels, model(images, training=False))
        return {"accuracy": float(right.result())}


def _examples(ctx: Context, part: str) -> tf.data.Dataset:
    """Images [28, 28, 1] from 0 to 1 and labels, as the files of this part have them."""

    def decoded(image: Any, label: Any) -> tuple[Any, Any]:
        pixels = tf.cast(tf.io.decode_raw(image, tf.uint8), tf.float32) / 255.0
        label = tf.cast(tf.io.decode_raw(label, tf.uint8)[0], tf.int64)
        return tf.reshape(pixels, (SIDE, SIDE, 1)), label

    # An IDX file begins with 0, 0, 8 (bytes), its dimensions, and the size of each in 4 bytes.
    size = SIDE.to_bytes(4, "big")
    images = _file(ctx, f"{part}-images-idx3-ubyte.gz")
    labels = _file(ctx, f"{part}-labels-idx1-ubyte.gz")
    records = (
        _records(images, b"\0\0\x08\x03", size * 2, SIDE * SIDE),
        _records(labels, b"\0\0\x08\x01", b"", 1),
    )
    return tf.data.Dataset.zip(records).map(decoded, num_parallel_calls=tf.data.AUTOTUNE)


def _records(file: Path, magic: bytes, sizes: bytes, length: int) -> tf.data.Dataset:
    """The records of an IDX file, `length` bytes each; `sizes` follow their number."""
    packed = file.suffix == ".gz"
    header = len(magic) + 4 + len(sizes)
    try:
        with gzip.open(file) if packed else file.open("rb") as opened:
            start = opened.read(header)
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{file} is not packed by gzip, or not whole: {error}") from error
    if not (start.startswith(magic) and start.endswith(sizes)):
        raise ValueError(f"{file} is no file of MNIST's form: it begins with {start.hex(' ')}")
    kind = "GZIP" if packed else ""
    return tf.data.FixedLengthRecordDataset(str(file), length, header, compression_type=kind)


def _file(ctx: Context, name: str) -> Path:
    """The file, unpacked if it is there so; fetched if it is not there."""
    packed = ctx.data_dir / FOLDER / name
    unpacked = packed.with_suffix("")
    if unpacked.is_file():
        return unpacked
    if not packed.is_file():
        _fetch(ctx.flags.mirror, packed)
    return packed


def _fetch(mirror: str, file: Path) -> None:
    """Write a file whole or not at all: several tasks may fetch it at once."""
    to_do = f"copy {', '.join(SHA256)} into {file.parent}, packed or not"
    if not mirror:
        raise FileNotFoundError(f"{file} is missing: {to_do}")
    address = f"{mirror.rstrip('/')}/{file.name}"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            content = answer.read()
    except (OSError, HTTPException) as error:
        missing = f"{file} is missing, and {address} could not be fetched ({error})"
        raise FileNotFoundError(f"{missing}: {to_do}") from error
    if (found := hashlib.sha256(content).hexdigest()) != SHA256[file.name]:
        raise ValueError(f"{address} has the SHA-256 {found}, not {SHA256[file.name]}: {to_do}")
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{uuid4().hex}")
    part.write_bytes(content)
    part.replace(file)
