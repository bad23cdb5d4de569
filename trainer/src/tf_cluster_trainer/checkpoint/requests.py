"""The requests that an export carries: tried on its own function first, and what they gave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.run_directory import export_record

LARGEST = 32 << 20
"""Bytes of an answer to the whole batch, by that to one row: no training needs memory for more."""

_GRAPH = "Graph execution error"  # TensorFlow's first line, whatever it was
Tensors = Mapping[str, Any]


@dataclass(frozen=True)
class Tried:
    """What came of it.

    `good` are the requests that were answered. `request` and `answer` are the one to record, None
    where there is none. `findings` say what is wrong with the model as a served one, and `others`
    what is left out; each is a sentence.
    """

    good: tuple[Tensors, ...] = ()
    request: Tensors | None = None
    answer: Tensors | None = None
    findings: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def tried(predict: Callable[..., Any], batch: Tensors) -> Tried:
    """Try one row and the whole batch: NumPy arrays [rows, …] by the name of the input.

    It changes nothing but what a stateful layer keeps.
    """
    rows = next(iter(batch.values())).shape[0]
    one = {name: value[:1] for name, value in batch.items()}
    sizes = {1: one, rows: batch}
    shapes: dict[int, dict[str, tuple[int, ...]]] = {}
    failed: dict[int, str] = {}
    answer: Tensors = {}
    for size, request in sizes.items():
        large = rows * sum(value.nbytes for value in answer.values())
        if large > LARGEST:
            failed[size] = f"its answer would have {large >> 20} MiB"
            continue
        try:
            given = _answer(predict, request)
        except Exception as error:  # the model is the program's
            failed[size] = _words(error)
            continue
        shapes[size] = {name: value.shape for name, value in given.items()}
        answer = answer or given
    if not shapes:
        return Tried(findings=(f"the model fails for the program's own data ({failed[1]})",))
    findings = [*_fixed(rows, shapes, failed), *_whatever(shapes)]
    others = [
        f"the export's warm-up leaves out a request of {_rows(size)}: {why}"
        for size, why in failed.items()
    ]
    good = tuple(sizes[size] for size in shapes)
    request = good[0]
    if why := export_record.recordable(request, answer) or _changes(predict, request, answer):
        others.append(f"the export records no request: {why}")
        return Tried(good, None, None, tuple(findings), tuple(others))
    return Tried(good, request, answer, tuple(findings), tuple(others))


def _answer(predict: Callable[..., Any], request: Tensors) -> Tensors:
    given = {name: tf.constant(value) for name, value in request.items()}
    return {name: np.asarray(value.numpy()) for name, value in predict(**given).items()}


def _fixed(rows: int, answered: Collection[int], failed: Collection[int]) -> list[str]:
    """A finding where the model takes batches of one size alone."""
    if rows == 1 or 1 not in failed or rows not in answered:
        return []
    return [
        f"the model takes {rows} rows and not one: a server would have to be asked for {rows} each "
        f"time. Let it take any number: no batch_size in its Input, and -1 or tf.shape(x)[0] "
        f"where it reshapes"
    ]


def _whatever(shapes: Mapping[int, Mapping[str, tuple[int, ...]]]) -> list[str]:
    """Findings of outputs that have no row for each of the request's rows."""
    found: dict[str, str] = {}
    for size, outputs in shapes.items():
        for name, shape in outputs.items():
            if shape[:1] != (size,):
                found[name] = (
                    f"the output {name} has the shape {list(shape)} for {_rows(size)}: a "
                    "server that puts requests into batches can't divide it. Give it a row for "
                    "each row of the inputs, or leave batching off"
                )
    return list(found.values())


def _changes(predict: Callable[..., Any], request: Tensors, answer: Tensors) -> str:
    try:
        again = _answer(predict, request)
    except Exception as error:
        return f"the model fails when it is asked again: {_words(error)}"
    for name, value in answer.items():
        if not _same(value, again[name]):
            return f"the model gives another {name} for it each time"
    return ""


def _same(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind in "OSUb":
        return bool(np.array_equal(one, other))
    # Threads that add up in another order change last bits.
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True))


def _rows(number: int) -> str:
    return "one row" if number == 1 else f"{number} rows"


def _words(error: Exception) -> str:
    message = getattr(error, "message", "") or str(error)
    lines = [line.strip() for line in str(message).splitlines()]
    first = next((line for line in lines if line and not line.startswith(_GRAPH)), "")
    return f"{type(error).__name__}: {first}"[:300]
