"""The request that was recorded with an export, and its answer (assets.extra/tf-cluster.json)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tf_cluster_trainer.run_directory import export_record, tensors
from tf_cluster_trainer.serving.ask_messages import KINDS, Array, dtype_of
from tf_cluster_trainer.serving.saved_model import SIGNATURE

Tensors = Mapping[str, tuple[str, Array]]
"""Names, type names (KINDS) and arrays."""


class RecordError(Exception):
    """A file that holds no request; the message names it, the place and what is wanted."""


@dataclass(frozen=True)
class Recorded:
    """A signature, its inputs, and the outputs that were seen; None for what is not recorded."""

    signature: str
    inputs: Tensors | None
    outputs: Tensors | None


def of_export(directory: Path) -> Recorded:
    """What a version's directory holds; nothing is recorded in one without. Raises RecordError."""
    if not directory.is_dir():
        raise RecordError(f"{directory}: there is no such directory; name that of one version")
    path = export_record.path_in(directory)
    if not path.exists():
        return Recorded(SIGNATURE, None, None)  # of an older trainer, or no trainer's
    return of_file(path)


def of_file(path: Path) -> Recorded:
    """What a file holds: `request`, and perhaps `answer` and `signature`. Raises RecordError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path}: it is no JSON: {error}") from error
    if not isinstance(document, dict) or "request" not in document:
        raise RecordError(f"{path}: it has no `request`")
    signature = document.get("signature", SIGNATURE)
    if not isinstance(signature, str):
        raise RecordError(f"{path}: /signature: it is a name, not {signature!r}")
    return Recorded(
        signature,
        _tensors(document["request"], "inputs", f"{path}: /request"),
        _tensors(document.get("answer"), "outputs", f"{path}: /answer"),
    )


def _tensors(document: Any, key: str, place: str) -> Tensors | None:
    if document is None:
        return None
    try:
        found = document[key].items()
    except (TypeError, KeyError, AttributeError):
        raise RecordError(f"{place}: it has no `{key}` by name") from None
    return {name: _tensor(value, f"{place}/{key}/{name}") for name, value in found}


def _tensor(document: Any, place: str) -> tuple[str, Array]:
    """A type name and an array. Raises RecordError."""
    try:
        kind, shape, values = (document[key] for key in ("dtype", "shape", "values"))
    except (TypeError, KeyError):
        raise RecordError(f"{place}: it has to have `dtype`, `shape` and `values`") from None
    if kind not in KINDS:
        raise RecordError(f"{place}/dtype: {kind!r} is none of {', '.join(KINDS)}")
    if not isinstance(shape, list) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise RecordError(f"{place}/shape: it is a list of sizes, not {shape!r}")
    flat = [_value(value, kind, place) for value in _leaves(values)]
    count = int(np.prod(shape))
    if len(flat) != count:
        raise RecordError(f"{place}/values: {len(flat)} values for the shape {shape}")
    try:
        if kind == "string":
            array = np.empty(count, np.object_)
            array[:] = flat
        else:
            array = np.array(flat, dtype_of(kind))
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"{place}/values: {error}") from None
    return kind, array.reshape(shape)


def _leaves(values: Any) -> list[Any]:
    if isinstance(values, list):
        return [leaf for value in values for leaf in _leaves(value)]
    return [values]


def _value(value: Any, kind: str, place: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "string" and isinstance(value, str):
        return value.encode()
    if kind == "string" and isinstance(value, dict) and isinstance(value.get("b64"), str):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except binascii.Error as error:
            raise RecordError(f"{place}/values: {value['b64']!r} is no base64: {error}") from None
    if kind in tensors.FLOATS and isinstance(value, str) and value in tensors.WORDS:
        return tensors.WORDS[value]
    if kind in ("bool", "string") or not is_number:
        raise RecordError(f"{place}/values: {value!r} is no {kind}")
    if "int" in kind and not isinstance(value, int):
        raise RecordError(f"{place}/values: {value!r} is no {kind}")
    return value
