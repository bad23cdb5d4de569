"""A part of a long matrix in `make test`, the next one for each commit; all of it in test-full.

`SLICE=7 make test` takes the slice of that number, whatever the commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


def one_each(cases: Sequence[str], columns: Sequence[str]) -> list[Any]:
    """All pairs as parameters: for each case one column is `chosen`, another one next time."""
    return [
        pytest.param(case, column, marks=_mark(-(place + number) % len(columns), len(columns)))
        for place, case in enumerate(cases)
        for number, column in enumerate(columns)
    ]


def in_turn(number: int, of: int) -> Callable[[Test], Test]:
    """For the test that is so many-th (from 0) `of` those that see one promise kept elsewhere too.

    Where it is not its turn it is marked `full`.
    """
    return _mark(number, of)


def _mark(number: int, of: int) -> pytest.MarkDecorator:
    return pytest.mark.chosen if slice_number() % of == number else pytest.mark.full


def chosen() -> str:
    """A line on which slice this is, and how to have it again."""
    return f"slice {slice_number()} of the long cases ({_why()}; SLICE={slice_number()} repeats it)"


def slice_number() -> int:
    """The number that chooses: SLICE, else how many commits HEAD has behind it, itself too.

    So the next commit takes the next slice, and one that is amended takes the same again.
    """
    told = os.environ.get("SLICE")
    return int(told) if told else history().commits


def _why() -> str:
    if os.environ.get("SLICE"):
        return "as told"
    if not history().commits:
        return "no commits to count: git does not answer here"
    if history().shallow:
        return "by the commits of a shallow clone, which are not all: the slice may never change"
    return f"by {history().commits} commits"


@dataclass(frozen=True)
class History:
    """How many commits there are; not all of them in a shallow clone, none outside a repository."""

    commits: int = 0
    shallow: bool = False


@cache
def history() -> History:
    """The history of this clone."""
    count = _git("rev-list", "--count", "HEAD")
    shallow = _git("rev-parse", "--is-shallow-repository") == "true"
    return History(int(count), shallow) if count else History()


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails, or is not installed."""
    try:
        done = subprocess.run(
            ("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _parameter(case: Any) -> Any:
    return case if hasattr(case, "values") else pytest.param(case, id=str(case))
