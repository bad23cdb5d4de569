"""How far an answer is from the one that was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

TOLERANCE = 1e-4
"""The default. Another processor adds up in another order: last bits differ, and no more."""


class OtherAnswerError(Exception):
    """The two have no distance; the message says what is another."""


def difference(recorded: Mapping[str, Any], got: Mapping[str, Any]) -> float:
    """The largest difference of two answers, NumPy arrays by name.

    That of two numbers is |a - b| / max(1, |a|), so it is relative for large ones; NaN equals NaN.
    Integers, truth values and strings have to be equal. Raises OtherAnswerError where they are not,
    or where names or shapes differ.
    """
    if recorded.keys() != got.keys():
        raise OtherAnswerError(
            f"it gives {', '.join(sorted(got))}; recorded is {', '.join(sorted(recorded))}"
        )
    largest = 0.0
    for name, one in recorded.items():
        other = got[name]
        if one.shape != other.shape:
            raise OtherAnswerError(
                f"{name} has the shape {list(other.shape)}; recorded is {list(one.shape)}"
            )
        if one.dtype.kind != "f" or other.dtype.kind != "f":
            if not np.array_equal(one, other):
                raise OtherAnswerError(f"{name} is another one than recorded")
            continue
        largest = max(largest, _largest(name, one, other))
    return largest


def _largest(name: str, one: Any, other: Any) -> float:
    apart = distances(one.astype(np.float64), other.astype(np.float64))
    if np.isinf(apart).any():
        raise OtherAnswerError(f"{name} has NaN or infinity where the recorded one has not, or not")
    return float(apart.max(initial=0.0))


def distances(recorded: Any, got: Any) -> Any:
    """|recorded - got| / max(1, |recorded|) of each two numbers of arrays of one shape.

    It is 0 where both are NaN, or the same infinity, and infinite where one alone is.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(got - recorded) / np.maximum(1.0, np.abs(recorded))
    same = (got == recorded) | (np.isnan(got) & np.isnan(recorded))
    apart = np.where(same, 0.0, apart)
    return np.where(np.isnan(apart), np.inf, apart)
