"""Programs that do at a moment of the test's choice what others do by chance."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import tensorflow as tf
from tf_cluster_trainer import Context

from tests.trainer.child.programs.broken import Small

BUILDS = "builds the model on the cluster"


def sign(data: Path) -> Path:
    """The file in the data directory that is awaited."""
    return data / "sign"


def give_the_sign(world: Path) -> None:
    """To the programs of the world in this directory."""
    at = sign(world / "data")
    at.parent.mkdir(exist_ok=True)
    at.touch()


def take_it_back(world: Path) -> None:
    """For the programs to come."""
    sign(world / "data").unlink(missing_ok=True)


def wait(ctx: Context) -> None:
    """Until the sign is given: by the test, in another process, whose file is all there is."""
    while not sign(ctx.data_dir).exists():
        time.sleep(0.05)


class BuildsAtTheSign(Small):
    """The model of the trial is there at once, that on the cluster when the sign is given."""

    _tried = False

    def build_model(self, ctx: Context) -> Any:
        if self._tried:
            print(BUILDS, flush=True)
            wait(ctx)
        self._tried = True
        model = super().build_model(ctx)
        model.get_weights()  # what TensorFlow has to say of the cluster, it says here
        return model


class FailsAtTheSign(Small):
    """A batch that is made after the sign was given is wrong."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        path = str(sign(ctx.data_dir))

        def checked(numbers: Any, total: Any) -> Any:
            # Of the row, or TensorFlow would look once and keep what it saw.
            nothing = tf.strings.substr(tf.strings.as_string(numbers[0]), 0, 0)
            there = tf.size(tf.io.matching_files(tf.strings.join([path, nothing])))
            with tf.control_dependencies([tf.debugging.assert_equal(there, 0, "a wrong row")]):
                return tf.identity(numbers), total

        return super().dataset(ctx, input_context).map(checked)


class UploadsAtTheSign(Small):
    """To a bucket that can't be reached."""

    def after_train(self, ctx: Context, model: Any) -> None:
        wait(ctx)
        raise tf.errors.UnavailableError(None, None, "gs://models: Connection reset by peer")
