"""Two things measured in turn, A B A B …, so that a drifting machine touches both alike."""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass


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
    left: list[float] = []
    right: list[float] = []
    for number in range(pairs):
        if number % 2:
            right.append(second())
            left.append(first())
        else:
            left.append(first())
            right.append(second())
        words = f"{left[-1]:.4g} {unit}, {right[-1]:.4g} {unit}"
        print(f"  pair {number + 1}: {words}", file=sys.stderr, flush=True)
    return Comparison(tuple(left), tuple(right))
