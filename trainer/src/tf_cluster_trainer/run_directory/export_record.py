"""tf-cluster.json of an exported version: what it is of, and one request with its answer.

Imports no TensorFlow. schemas/export.schema.json is the format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema

from tf_cluster_trainer.run_directory import layout, tensors

VERSION = 1
LARGEST = 64 << 10
"""Bytes of JSON that a recorded request may have, and its answer."""


class UnreadableRecordError(Exception):
    """The file is there and is none of ours; the message says where."""


@dataclass(frozen=True)
class ExportRecord:
    """What tf-cluster.json says.

    `request` and `answer` are NumPy arrays by name, inputs and outputs of `signature`; both are
    None where nothing is recorded. `metrics` are None where nothing was measured; one that was not
    finite is None.
    """

    run_name: str
    run_id: str
    step: int
    metrics: Mapping[str, float | None] | None
    tensorflow: str
    trainer: str
    signature: str
    request: Mapping[str, Any] | None = None
    answer: Mapping[str, Any] | None = None


def path_in(version: Path) -> Path:
    """Where a version's record is."""
    return version / layout.EXTRA / layout.EXPORT_RECORD


def recordable(request: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Why the two can't be recorded; empty where they can."""
    for what, named in (("request", request), ("answer", answer)):
        size = sum(_least(one) for one in named.values())
        try:
            if size <= LARGEST:
                size = len(_json(_tensors(named)))
        except ValueError as error:
            return str(error)
        if size > LARGEST:
            return f"the {what} has more than {LARGEST >> 10} KiB of JSON"
    return ""


def write(record: ExportRecord, version: Path) -> None:
    """Write it into the version's directory, which nobody reads yet. Raises OSError."""
    metrics = record.metrics
    document = {
        "version": VERSION,
        "run": {"name": record.run_name, "id": record.run_id},
        "step": record.step,
        "metrics": None if metrics is None else {n: _finite(v) for n, v in metrics.items()},
        "tensorflow": record.tensorflow,
        "trainer": record.trainer,
        "signature": record.signature,
        "request": _named("inputs", record.request),
        "answer": _named("outputs", record.answer),
    }
    path = path_in(version)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(_json(document) + b"\n")


def read(version: Path) -> ExportRecord | None:
    """A version's record; None where it has none. Raises UnreadableRecordError and OSError."""
    path = path_in(version)
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UnreadableRecordError(f"{_short(path)} is no JSON: {error}") from None
    schema = resources.files("tf_cluster_trainer") / "schemas/export.schema.json"
    validator = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    for wrong in sorted(validator.iter_errors(document), key=lambda one: one.json_path):
        place = "/".join(map(str, wrong.absolute_path))
        raise UnreadableRecordError(f"{_short(path)}: /{place}: {wrong.message[:200]}")
    return ExportRecord(
        run_name=document["run"]["name"],
        run_id=document["run"]["id"],
        step=document["step"],
        metrics=document["metrics"],
        tensorflow=document["tensorflow"],
        trainer=document["trainer"],
        signature=document["signature"],
        request=_arrays(path, document, "request", "inputs"),
        answer=_arrays(path, document, "answer", "outputs"),
    )


def _refuse(word: str) -> None:
    raise ValueError(f"it holds {word}")


def _named(key: str, arrays: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if arrays is None else {key: _tensors(arrays)}


def _tensors(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tensors.as_json(array) for name, array in arrays.items()}


def _arrays(path: Path, document: Any, what: str, key: str) -> dict[str, Any] | None:
    if document[what] is None:
        return None
    found = {}
    for name, told in document[what][key].items():
        try:
            found[name] = tensors.as_array(told)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            place = f"/{what}/{key}/{name}"
            raise UnreadableRecordError(f"{_short(path)}: {place}: {error}") from None
    return found


def _least(array: Any) -> int:
    """Bytes of JSON that an array has at least, so that a large one is not made for its size."""
    return 2 * int(array.size)


def _json(document: Any) -> bytes:
    return json.dumps(document, allow_nan=False, ensure_ascii=False).encode()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _short(path: Path) -> str:
    return "/".join(path.parts[-2:])
