"""Two things measured in turn, A B A B …, so that a drifting machine touches both alike."""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Comparison:
    """Paired samples of two things (seconds, or any one unit) and their ratio first/second."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of the paired ratios."""
        return statistics.median(self._ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the median ratio (percentile method, fixed seed)."""
        return bootstrap_interval(self._ratios)

    @property
    def is_measurement(self) -> bool:
        """At least nine pairs, and an interval no wider than 5 % of the ratio."""
        low, high = self.interval
        return len(self.first) >= 9 and high - low <= 0.05 * self.ratio

    @property
    def _ratios(self) -> tuple[float, ...]:
        return tuple(a / b for a, b in zip(self.first, self.second, strict=True))


def bootstrap_interval(samples: Sequence[float], resamples: int = 10_000) -> tuple[float, float]:
    """2.5 % and 97.5 % points of the median over resamples with replacement."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(samples, k=len(samples))) for _ in range(resamples)
    )
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def compare(
    first: Callable[[], float],
    second: Callable[[], float],
    pairs: int,
    unit: str = "s",
) -> Comparison:
    """Measure `pairs` pairs; which of the two goes first alternates."""
    found = []
    for number in range(pairs):
        found.append(one_pair(first, second, number))
        say_pair(number, *found[-1], unit)
    return Comparison(*zip(*found, strict=True))


def one_pair(
    first: Callable[[], Sample], second: Callable[[], Sample], number: int
) -> tuple[Sample, Sample]:
    """Both measured, in the order whose turn it is in the number-th pair (from 0)."""
    if number % 2:
        right = second()
        return first(), right
    return first(), second()


def say_pair(number: int, first: float, second: float, unit: str) -> None:
    """For who watches."""
    words = f"{first:.4g} {unit}, {second:.4g} {unit}"
    print(f"  pair {number + 1}: {words}", file=sys.stderr, flush=True)
