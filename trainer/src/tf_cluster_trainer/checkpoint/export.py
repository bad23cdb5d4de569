"""Exports a SavedModel that needs no Keras to load and that TensorFlow Serving finds."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.flushing import flush

SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Served(tf.Module):  # type: ignore[misc]
    """A plain model's forward pass, variables and tables, without Keras or the trainer."""

    def __init__(self, model: Any, features: Any, step: int) -> None:
        super().__init__()
        self.step = tf.Variable(step, trainable=False, dtype=tf.int64, name="step")
        self._variables = model.variables
        inputs = named_inputs(model, features)

        def predict(**tensors: Any) -> dict[str, Any]:
            value = tf.nest.pack_sequence_as(features, [tensors[name] for name in inputs])
            return _named_outputs(model(value, training=False))

        self.predict = tf.function(predict).get_concrete_function(
            **{name: tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in inputs.items()}
        )
        # Also those that no layer tracks: of a Lambda, or of an object of the program.
        owners = [_owner(captured) for captured in self.predict.captured_inputs]
        self._tables = [
            owner
            for owner in owners
            if isinstance(owner, tf.saved_model.experimental.TrackableResource)
        ]


def _owner(captured: Any) -> Any:
    """The owner of a captured tensor; TensorFlow records it for variables and tables."""
    owner = getattr(captured, "_parent_trackable", None)
    return owner() if owner else None


def named_inputs(model: Any, features: Any) -> dict[str, tf.TensorSpec]:
    """The signature's inputs by name, in the order of the flattened features.

    The names are the features' keys, else the names of the model's inputs, else `features`,
    `features_1`.
    """
    flat = tf.nest.flatten(features)
    keys = sorted(features) if isinstance(features, Mapping) else []
    for given in (keys, getattr(model, "input_names", None) or []):
        names = [_argument(name) for name in given]
        if len(set(names)) == len(given) == len(flat):
            return dict(zip(names, flat, strict=True))
    names = ["features", *(f"features_{index}" for index in range(1, len(flat)))]
    return dict(zip(names, flat, strict=True))


def _argument(name: object) -> str:
    """The name as a signature can have it: `user-id` becomes `user_id`."""
    argument = re.sub("[^a-zA-Z0-9_]", "_", str(name))
    return argument if argument[:1].isalpha() else f"arg_{argument}"


def export(
    model: Any, features: Any, step: int, directory: Path, *, check_owner: Callable[[], None]
) -> Path:
    """Write the next version, rename it into place when whole, and return its path.

    `model` is plain (made outside any strategy) and has the weights of this step. `check_owner`
    raises if another attempt owns the run; it is called before the first and before the last write,
    and then no file is left. Raises OSError if the disk refuses a write.
    """
    check_owner()
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(f"{layout.TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)
    temporary = directory / f"{layout.TEMPORARY}{uuid.uuid4().hex[:8]}"
    served = Served(model, features, step)
    try:
        _save(served, temporary)
        for path in (*temporary.rglob("*"), temporary):
            flush(path)  # what is said to be exported must not be empty after a power cut
        final = directory / str(1 + max(versions(directory), default=0))
        check_owner()
        temporary.rename(final)
        flush(directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return final


def _save(served: Served, directory: Path) -> None:
    try:
        tf.saved_model.save(served, str(directory), signatures={SIGNATURE: served.predict})
    except tf.errors.OpError as error:
        # A full disk is not an error of the program: the next start repeats the export.
        raise OSError(f"{directory}: {error.message}") from error


def versions(directory: Path) -> list[int]:
    """The whole versions in the directory, in no order."""
    return [int(path.name) for path in directory.iterdir() if path.name.isdecimal()]


def _named_outputs(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, Mapping):
        return dict(outputs)
    flat = tf.nest.flatten(outputs)
    if len(flat) == 1:
        return {"outputs": flat[0]}
    return {f"outputs_{index}": output for index, output in enumerate(flat)}
