"""A part of a long matrix in `make test`, another one for each commit; all of it in test-full."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])
ROOT = Path(__file__).resolve().parents[1]


def sliced(cases: Sequence[Any], number: int) -> list[Any]:
    """All the cases as parameters; those that are not this commit's turn are marked `full`."""
    first = _commit() % len(cases)
    turn = {(first + offset) % len(cases) for offset in range(number)}
    return [
        case
        if index in turn
        else pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.full))
        for index, case in enumerate(map(_parameter, cases))
    ]


def in_turn(number: int, of: int) -> Callable[[Test], Test]:
    """For the test that is so many-th (from 0) `of` those that see one promise kept elsewhere too.

    Where it is not this commit's turn it is marked `full`.
    """
    return lambda test: test if _commit() % of == number else pytest.mark.full(test)


@cache
def _commit() -> int:
    """The present commit's hash as a number; 0 outside a repository."""
    done = subprocess.run(
        ("git", "rev-parse", "--short=8", "HEAD"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(done.stdout or "0", 16)


def _parameter(case: Any) -> Any:
    return case if hasattr(case, "values") else pytest.param(case, id=str(case))
