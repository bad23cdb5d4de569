"""Small SavedModels, made once in this process and copied to where a case wants them."""

from __future__ import annotations

import functools
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

WIDTH = 3
INPUT, OUTPUT = "x", "y"
WARMUP = Path("assets.extra", "tf_serving_warmup_requests")


class Scales(tf.Module):  # type: ignore[misc]
    """`y` is `x` times a number; `named` has two inputs; `words` gives strings back."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = tf.Variable(scale)

    @tf.function(  # type: ignore[untyped-decorator]
        input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, name=INPUT)]
    )
    def serve(self, x: Any) -> dict[str, Any]:
        return {OUTPUT: x * self.scale}

    @tf.function(  # type: ignore[untyped-decorator]
        input_signature=[
            tf.TensorSpec([None], tf.float32, name="a"),
            tf.TensorSpec([None], tf.int64, name="b"),
        ]
    )
    def named(self, a: Any, b: Any) -> dict[str, Any]:
        return {"sum": a + tf.cast(b, tf.float32), "b": b}

    @tf.function(  # type: ignore[untyped-decorator]
        input_signature=[tf.TensorSpec([None], tf.string, name="text")]
    )
    def words(self, text: Any) -> dict[str, Any]:
        return {"text": text, "raw_bytes": text}


MADE: list[Path] = []
"""The directories that the versions are copied from."""


@functools.cache
def _made(scale: float) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tf-cluster-saved-models-"))
    MADE.append(folder)
    model = Scales(scale)
    signatures = {"serving_default": model.serve, "named": model.named, "words": model.words}
    tf.saved_model.save(model, str(folder), signatures=signatures)
    return folder


def put(base: Path, version: int | str, scale: float, warmup: Sequence[Any] = ()) -> Path:
    """A version that multiplies by `scale`, moved into place when whole.

    `warmup` are the PredictionLogs that it brings.
    """
    base.mkdir(parents=True, exist_ok=True)
    temporary = base / f".tmp-{uuid.uuid4().hex}"
    shutil.copytree(_made(scale), temporary)
    if warmup:
        (temporary / WARMUP.parent).mkdir(exist_ok=True)
        with tf.io.TFRecordWriter(str(temporary / WARMUP)) as writer:
            for one in warmup:
                writer.write(one.SerializeToString())
    return temporary.rename(base / str(version))


def put_broken(base: Path, version: int) -> Path:
    """A version whose graph was cut off, as one that is copied by hand and not moved."""
    whole = put(base, f"{version}.part", 1.0)
    graph = whole / "saved_model.pb"
    graph.write_bytes(graph.read_bytes()[:-100])
    return whole.rename(base / str(version))
