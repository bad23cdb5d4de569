"""How far an answer is from the recorded one, and where it is farthest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tf_cluster_trainer.serving.ask_messages import Array
from tf_cluster_trainer.serving.ask_recorded import Tensors
from tf_cluster_trainer.serving.compare import distances


@dataclass(frozen=True)
class Comparison:
    """The largest difference, None where there is no number for it; why it is too large, or None.

    The difference of two floats is |served - recorded| / max(1, |recorded|): absolute for small
    values, relative for large ones. Integers, strings and truth values are equal or not: where they
    are not, it is 1 at least.
    """

    difference: float | None
    problem: str | None


def compared(served: Tensors, recorded: Tensors, tolerance: float) -> Comparison:
    """Compare all outputs; another set of them, or another type or shape, is a problem."""
    if problem := next(_shapes(served, recorded), None):
        return Comparison(None, problem)
    worst, largest = "", 0.0
    for name, (kind, expected) in recorded.items():
        found = served[name][1]
        differences = _differences(found, expected, kind)
        if not differences.size:
            continue
        place = int(np.argmax(differences))
        if differences.reshape(-1)[place] > largest:
            largest = float(differences.reshape(-1)[place])
            at = [int(n) for n in np.unravel_index(place, differences.shape)]
            values = (_said(array.reshape(-1)[place]) for array in (found, expected))
            worst = "output {!r} differs most at {}: served {}, recorded {}".format(
                name, at, *values
            )
    difference = largest if math.isfinite(largest) else None
    if largest <= tolerance:
        return Comparison(difference, None)
    much = f"{largest:.3g}" if difference is not None else "not a number"
    return Comparison(difference, f"{worst} (difference {much}, tolerance {tolerance:g})")


def _shapes(served: Tensors, recorded: Tensors) -> Iterator[str]:
    for name in sorted(set(recorded) - set(served)):
        yield f"it gives no output {name!r}, which was recorded"
    for name in sorted(set(served) - set(recorded)):
        yield f"it gives an output {name!r}, which was not recorded"
    for name in sorted(set(served) & set(recorded)):
        (kind, found), (expected_kind, expected) = served[name], recorded[name]
        if kind != expected_kind:
            yield f"output {name!r} is {kind}, recorded as {expected_kind}"
        if found.shape != expected.shape:
            shapes = [*found.shape], [*expected.shape]
            yield "output {!r} has the shape {}, recorded as {}".format(name, *shapes)


def _differences(found: Array, expected: Array, kind: str) -> Array:
    if kind in ("string", "bool"):
        return np.asarray(found != expected, np.float64)
    if "int" in kind:  # as Python's, which don't run over
        pairs = zip(found.reshape(-1).tolist(), expected.reshape(-1).tolist(), strict=True)
        return np.array([float(abs(a - b)) for a, b in pairs]).reshape(found.shape)
    wide = np.complex128 if kind.startswith("complex") else np.float64
    apart: Array = distances(expected.astype(wide), found.astype(wide))
    return apart


def _said(value: object) -> str:
    return repr(value) if isinstance(value, bytes) else str(value)  # in as few digits as can be
