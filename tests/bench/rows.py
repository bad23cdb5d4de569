"""A row of the page: what, how much, against what, the bar, and whether it is met.

All of it is made of the samples when the page is made; only the samples are kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.bench.pairs import NAMES, bootstrap_interval

MET, MISSED, UNSURE = "met", "missed", "not a measurement"
# Between the ends of fewer lies the median in less than 95 of 100 cases.
MEDIAN_OF = 6
PAIRS, WIDEST = 9, 0.05

# By column, as many in each: the first of all are one sample, and so on.
Samples: TypeAlias = Mapping[str, Sequence[float]]
Words: TypeAlias = str | Callable[[Samples], str]


@dataclass(frozen=True)
class Bar:
    """What a figure has to reach: `limit` and whether more is better; `words` for people."""

    words: str
    limit: float
    more_is_better: bool = False

    def met_by(self, value: float) -> bool:
        """Whether a figure reaches it."""
        return value >= self.limit if self.more_is_better else value <= self.limit


@dataclass(frozen=True)
class Line:
    """As it is printed."""

    what: str
    value: str
    against: str
    bar: str
    verdict: str


@dataclass(frozen=True)
class Ratio:
    """The median of the paired ratios of two columns.

    `against` says what the second is; where that depends on what was found, a function does.
    """

    what: str
    against: Words
    bar: Bar | None = None
    columns: tuple[str, str] = NAMES

    def line(self, samples: Samples, units: Mapping[str, str]) -> Line:
        """Its ratio with the interval, and the medians of both."""
        first, second = (samples[column] for column in self.columns)
        ratios = [a / b for a, b in zip(first, second, strict=True)]
        ratio, (low, high) = statistics.median(ratios), bootstrap_interval(ratios)
        medians = " against ".join(
            f"{statistics.median(samples[column]):.3g} {units[column]}" for column in self.columns
        )
        value = f"{ratio:.3f} × (95 % {low:.3f}–{high:.3f}, {_times(ratios, 'pair')}); {medians}"
        sure = len(ratios) >= PAIRS and high - low <= WIDEST * ratio
        verdict = _verdict(self.bar, ratio, (low, high), sure=sure, number=len(ratios))
        return Line(self.what, value, _said(self.against, samples), _words(self.bar), verdict)


@dataclass(frozen=True)
class Figure:
    """The median of a figure on its own: columns added, others taken off.

    `counted`: it is the same each time it is looked at, as a size is, so one look is enough.
    """

    what: str
    bar: Bar | None
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    against: Words = ""
    counted: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All that it is made of."""
        return self.plus + self.minus

    def line(self, samples: Samples, units: Mapping[str, str]) -> Line:
        """Its median, interval and worst."""
        unit = units[self.plus[0]]
        added = zip(*(samples[column] for column in self.plus), strict=True)
        figures = [sum(of_one) for of_one in added]
        for column in self.minus:
            figures = [a - b for a, b in zip(figures, samples[column], strict=True)]
        middle, (low, high) = statistics.median(figures), bootstrap_interval(figures)
        value, sure = f"{middle:.3g} {unit}", len(set(figures)) == 1
        if not self.counted:
            times, most = _times(figures, "sample"), self._worst(figures)
            value += f" (95 % {low:.3g}–{high:.3g}, {times}, worst {most:.3g} {unit})"
            inside = self.bar is not None and self.bar.met_by(low) != self.bar.met_by(high)
            sure = len(figures) >= MEDIAN_OF and not inside
        verdict = _verdict(self.bar, middle, (low, high), sure=sure, number=len(figures))
        return Line(self.what, value, _said(self.against, samples), _words(self.bar), verdict)

    def _worst(self, figures: Sequence[float]) -> float:
        least_is = self.bar is not None and self.bar.more_is_better
        return min(figures) if least_is else max(figures)


Row: TypeAlias = Ratio | Figure


def at_least(limit: float) -> Bar:
    """Of a ratio."""
    return Bar(f"≥ {limit:g} ×", limit, more_is_better=True)


def at_most(limit: float) -> Bar:
    """Of a ratio."""
    return Bar(f"≤ {limit:g} ×", limit)


def _verdict(
    bar: Bar | None, middle: float, interval: tuple[float, float], *, sure: bool, number: int
) -> str:
    """Met or missed by the median; while that is not sure, on which side the interval lies."""
    if bar is None:
        return ""
    ends = {bar.met_by(end) for end in interval}
    if sure:
        verdict = MET if bar.met_by(middle) else MISSED
        return verdict if len(ends) == 1 else f"{verdict}; the bar is inside the interval"
    if number < MEDIAN_OF or len(ends) > 1:
        return UNSURE
    return f"{UNSURE}; the whole interval {'meets' if ends.pop() else 'misses'} the bar"


def _words(bar: Bar | None) -> str:
    return "" if bar is None else bar.words


def _said(words: Words, samples: Samples) -> str:
    return words if isinstance(words, str) else words(samples)


def _times(of: Sequence[float], name: str) -> str:
    return f"1 {name}" if len(of) == 1 else f"{len(of)} {name}s"
