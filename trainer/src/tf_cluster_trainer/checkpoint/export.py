"""Exports a SavedModel that needs no Keras to load and that TensorFlow Serving finds."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint import requests, warm_up
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.run_directory import export_record, layout
from tf_cluster_trainer.run_directory.export_record import ExportRecord
from tf_cluster_trainer.run_directory.flushing import flush

SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


@dataclass(frozen=True)
class About:
    """What an export is of. `metrics` is what was measured of this step; None: nothing was."""

    run_name: str
    run_id: str
    step: int
    metrics: Mapping[str, float] | None = None


class Served(tf.Module):  # type: ignore[misc]
    """A plain model's forward pass, variables and tables, without Keras or the trainer.

    `more` are the program's own signatures, concrete functions.
    """

    def __init__(self, model: Any, features: Any, step: int, more: Iterable[Any] = ()) -> None:
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
        functions = (self.predict, *more)
        owners = [_owner(one) for function in functions for one in function.captured_inputs]
        self._tables = [
            owner
            for owner in owners
            if isinstance(owner, tf.saved_model.experimental.TrackableResource)
        ]
        known = {id(variable) for variable in model.variables}
        self._others = [
            owner for owner in owners if isinstance(owner, tf.Variable) and id(owner) not in known
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
    model: Any,
    features: Any,
    about: About,
    directory: Path,
    *,
    check_owner: Callable[[], None],
    batch: Any = None,
    more: Mapping[str, Any] | None = None,
) -> Path:
    """Write the next version, rename it into place when whole, and return its path.

    `model` is plain (made outside any strategy) and has the weights of this step. `batch`, NumPy
    arrays [rows, …] in the structure of `features`, makes the requests that the export carries;
    without it there are none, nor where the last export's process was killed as it tried them.
    `more` are further signatures by name: each a tf.function with an input signature.
    `check_owner` raises if another attempt owns the run; it is called before the first and before
    the last write, and then no file is left. Raises OSError if the disk refuses a write.
    """
    check_owner()
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob(f"{layout.TEMPORARY}*"):
        if (left / layout.TRYING).exists() and batch is not None:
            # Most likely for want of memory: trying again would lose the export again.
            log("the last export was cut off as it tried its requests: this one has none", WARNING)
            batch = None
        shutil.rmtree(left, ignore_errors=True)
    temporary = directory / f"{layout.TEMPORARY}{uuid.uuid4().hex[:8]}"
    functions = {name: one.get_concrete_function() for name, one in (more or {}).items()}
    served = Served(model, features, about.step, functions.values())
    try:
        _save(served, {SIGNATURE: served.predict, **functions}, temporary)
        named = None if batch is None else _by_name(model, features, batch)
        (temporary / layout.TRYING).touch()
        _describe(served, about, named, temporary)
        (temporary / layout.TRYING).unlink()
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


def _save(served: Served, signatures: Mapping[str, Any], directory: Path) -> None:
    try:
        tf.saved_model.save(served, str(directory), signatures=signatures)
    except tf.errors.OpError as error:
        # A full disk is not an error of the program: the next start repeats the export.
        raise OSError(f"{directory}: {error.message}") from error


def _by_name(model: Any, features: Any, batch: Any) -> dict[str, Any]:
    return dict(zip(named_inputs(model, features), tf.nest.flatten(batch), strict=True))


def _describe(
    served: Served, about: About, batch: Mapping[str, Any] | None, directory: Path
) -> None:
    """Add the record, and the requests of the warm-up, to what TensorFlow wrote."""
    found = requests.Tried() if batch is None else requests.tried(served.predict, batch)
    for sentence in found.findings:
        log(f"serving: {sentence}", WARNING)
    for sentence in found.others:
        log(sentence)
    extra = directory / layout.EXTRA
    extra.mkdir(exist_ok=True)
    if found.good:
        warm_up.write(extra / layout.WARM_UP, about.run_name, SIGNATURE, found.good)
    record = ExportRecord(
        run_name=about.run_name,
        run_id=about.run_id,
        step=about.step,
        metrics=about.metrics,
        tensorflow=tf.__version__,
        trainer=_own_version(),
        signature=SIGNATURE,
        request=found.request,
        answer=found.answer,
    )
    export_record.write(record, directory)


def _own_version() -> str:
    try:
        return version("tf-cluster-trainer")
    except PackageNotFoundError:
        return "unknown"  # it runs from its source, and is not installed


def remove(path: Path) -> None:
    """Remove a version, so that nobody who looks at its directory meanwhile finds a part of it."""
    aside = path.with_name(f"{layout.TEMPORARY}{uuid.uuid4().hex[:8]}")
    try:
        path.rename(aside)
    except OSError:
        return  # the next export tries again
    shutil.rmtree(aside, ignore_errors=True)


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
