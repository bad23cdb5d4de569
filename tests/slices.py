"""A part of a long matrix in `make test`, another one for each commit; all of it in test-full.

`SLICE=7 make test` takes the slice of that number, whatever the commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])
ROOT = Path(__file__).resolve().parents[1]


def sliced(cases: Sequence[Any], number: int) -> list[Any]:
    """All the cases as parameters: those whose turn it is are marked `chosen`, others `full`."""
    first = slice_number() % len(cases)
    turn = {(first + offset) % len(cases) for offset in range(number)}
    return [
        pytest.param(
            *case.values,
            id=case.id,
            marks=(*case.marks, pytest.mark.chosen if index in turn else pytest.mark.full),
        )
        for index, case in enumerate(map(_parameter, cases))
    ]


def in_turn(number: int, of: int) -> Callable[[Test], Test]:
    """For the test that is so many-th (from 0) `of` those that see one promise kept elsewhere too.

    Where it is not its turn it is marked `full`.
    """
    return pytest.mark.chosen if slice_number() % of == number else pytest.mark.full


def chosen() -> str:
    """A line on which slice this is, and how to have it again."""
    return f"slice {slice_number()} of the long cases ({_why()}; SLICE={slice_number()} repeats it)"


def slice_number() -> int:
    """The number that chooses: SLICE, else the first digits of the present commit's hash."""
    told = os.environ.get("SLICE")
    return int(told) if told else int(_commit() or "0", 16)


def _why() -> str:
    if os.environ.get("SLICE"):
        return "as told"
    return f"by commit {_commit()}" if _commit() else "no commit: git does not answer here"


@cache
def _commit() -> str:
    """The first eight digits of the present commit's hash; nothing outside a repository."""
    done = subprocess.run(
        ("git", "rev-parse", "--short=8", "HEAD"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _parameter(case: Any) -> Any:
    return case if hasattr(case, "values") else pytest.param(case, id=str(case))
