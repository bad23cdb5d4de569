"""Finds the newest readable checkpoint and compares it with the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import tensorflow as tf

from tf_cluster_trainer.checkpoint import record
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.run_directory import layout

_BLOCK = 1 << 20


def newest(checkpoints: Path, log: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest readable checkpoint; None if there is no checkpoint at all.

    An unreadable checkpoint is logged and renamed, and the one before is tried. Raises ProgramError
    if there are checkpoints and none is readable, OSError if the disk fails.
    """
    found = layout.whole_checkpoints(checkpoints)
    unreadable: list[Path] = []
    for step, path in found:
        try:
            whole = _read_again(path)
        except Exception as error:  # the bundle's reader raises IndexError, RuntimeError, …
            missing = isinstance(error, FileNotFoundError)
            if isinstance(error, OSError | MemoryError) and not missing:
                raise  # the fault of the disk or of this process, not the checkpoint's
            log(f"the checkpoint of step {step} can't be read ({first_line(error)})")
            unreadable.append(path)
            continue
        for left in unreadable:
            _set_aside(left, log)
        return whole
    if found:
        raise ProgramError(
            f"none of the {len(found)} checkpoints in {checkpoints} can be read; "
            "give the run a new run.id to start afresh"
        )
    return None


def check_model(meta: Meta, model: Mapping[str, TensorSpec]) -> None:
    """Raise ProgramError that names the first variable in which model and checkpoint differ."""
    advice = "give the changed program a new run.id to start afresh"
    for key, spec in model.items():
        saved = meta.tensors.get(key)
        name = key.removeprefix("model/")
        if saved is None:
            raise ProgramError(
                f"the model's variable {name} is not in the checkpoint of step {meta.step}; "
                f"{advice}"
            )
        if saved != spec:
            raise ProgramError(
                f"the model's variable {name} is {_text(spec)}, but {_text(saved)} in the "
                f"checkpoint of step {meta.step}; {advice}"
            )
    for key in meta.tensors:
        if key.startswith("model/") and key not in model:
            raise ProgramError(
                f"the checkpoint of step {meta.step} has a variable "
                f"{key.removeprefix('model/')} that the model has not; {advice}"
            )


def read(path: Path, prefix: str = "") -> Checkpoint:
    """Read the checkpoint in this directory: its tensors whose keys start with `prefix`.

    If the checkpoint is not whole: raises OSError, ValueError, KeyError, or what TensorFlow's
    reader raises.
    """
    meta = record.from_json((path / layout.META).read_text(encoding="utf-8"))
    reader = tf.train.load_checkpoint(str(path / layout.BUNDLE))
    wanted = [key for key in meta.tensors if key.startswith(prefix)]
    tensors = {key: reader.get_tensor(key) for key in wanted}  # checks each tensor's CRC
    if int(reader.get_tensor(record.STEP)) != meta.step:
        raise ValueError(f"{layout.META} is of step {meta.step}, the tensors are not")
    for key, tensor in tensors.items():
        if tuple(tensor.shape) != meta.tensors[key].shape:
            raise ValueError(f"{key} has shape {tensor.shape}, not {meta.tensors[key].shape}")
    return Checkpoint(meta, tensors)


def _read_again(path: Path) -> Checkpoint:
    """Like `read`, with a second try.

    TensorFlow's errors do not tell a damaged file from a failing disk. Python's do, so Python reads
    all files between the two tries.
    """
    try:
        return read(path)
    except Exception:
        for file in path.iterdir():
            with file.open("rb") as stream:
                while stream.read(_BLOCK):
                    pass
        return read(path)


def _set_aside(path: Path, log: Callable[[str], None]) -> None:
    aside, number = path.with_name(path.name + layout.UNREADABLE), 1
    while aside.exists():  # the same step was damaged before
        number += 1
        aside = path.with_name(f"{path.name}{layout.UNREADABLE}-{number}")
    path.rename(aside)
    log(f"{path.name} is kept as {aside.name}; the one before is used")


def _text(spec: TensorSpec) -> str:
    return f"{spec.dtype}{list(spec.shape)}"


def first_line(error: Exception) -> str:
    """The first line of an error, or else its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]
