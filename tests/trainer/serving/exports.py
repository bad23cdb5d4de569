"""An export to look at, and ways in which one can be broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.program.trial import build_model, run_trial

from tests.support.trainings import context
from tests.trainer.child.programs.broken import Small

RECORD = "assets.extra/tf-cluster.json"
WARM_UP = "assets.extra/tf_serving_warmup_requests"
DATA = "variables/variables.data-00000-of-00001"


def made(directory: Path) -> Path:
    """A whole version, of step 7."""
    program, ctx = Small(), context(directory)
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    exporter = Exporter(program, ctx, features)
    return exporter.export(model, 7, {"loss": 0.5}, directory / "export", lambda: None)


def cut(name: str) -> Callable[[Path], Any]:
    """A copy that ended in the middle of a file."""

    def change(version: Path) -> None:
        content = (version / name).read_bytes()
        (version / name).write_bytes(content[: len(content) // 2])

    return change


def without(name: str) -> Callable[[Path], Any]:
    """A copy in which a file or a folder is missing."""

    def change(version: Path) -> None:
        path = version / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def put(name: str, old: bytes, new: bytes) -> Callable[[Path], Any]:
    """Other words in a file."""

    def change(version: Path) -> None:
        content = (version / name).read_bytes()
        assert old in content
        (version / name).write_bytes(content.replace(old, new))

    return change


def another(version: Path) -> None:
    """A model that has other signatures than servers ask for."""
    shutil.rmtree(version)
    module = tf.Module()
    spec = tf.TensorSpec([None], tf.float32, name="x")
    module.double = tf.function(lambda x: x * 2, input_signature=[spec])
    tf.saved_model.save(module, str(version), signatures={"double": module.double})


def of_sixteen(version: Path) -> None:
    """A model that takes 16 rows and no other number, and records nothing."""
    shutil.rmtree(version)
    module = tf.Module()
    spec = tf.TensorSpec([16, 2], tf.float32, name="x")
    module.double = tf.function(lambda x: x * 2, input_signature=[spec])
    tf.saved_model.save(module, str(version), signatures={"serving_default": module.double})
