"""Two things measured in turn, A B B A …, so that a drifting machine touches both alike."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

Sample = TypeVar("Sample")

NAMES = ("ours", "by hand")


def bootstrap_interval(samples: Sequence[float], resamples: int = 10_000) -> tuple[float, float]:
    """2.5 % and 97.5 % points of the median over resamples with replacement."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(samples, k=len(samples))) for _ in range(resamples)
    )
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def in_pairs(
    first: Callable[[], float],
    second: Callable[[], float],
    count: int,
    names: tuple[str, str] = NAMES,
) -> Iterator[Mapping[str, float]]:
    """So many samples of both, by their names; which of the two goes first alternates."""
    for number in range(count):
        yield dict(zip(names, one_pair(first, second, number), strict=True))


def one_pair(
    first: Callable[[], Sample], second: Callable[[], Sample], number: int
) -> tuple[Sample, Sample]:
    """Both measured, in the order whose turn it is in the number-th pair (from 0)."""
    if number % 2:
        right = second()
        return first(), right
    return first(), second()
