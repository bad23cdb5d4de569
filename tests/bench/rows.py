"""A line of the table: what, how much, against what, the bar, and whether it is met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.pairs import Comparison, bootstrap_interval

MET, MISSED, UNSURE = "met", "missed", "not a measurement"
# Between the ends of fewer lies the median in less than 95 of 100 cases.
MEDIAN_OF = 6


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
class Row:
    """As it is printed."""

    what: str
    value: str
    against: str
    bar: str
    verdict: str = ""


def at_least(limit: float) -> Bar:
    """Of a ratio."""
    return Bar(f"≥ {limit:g} ×", limit, more_is_better=True)


def at_most(limit: float) -> Bar:
    """Of a ratio."""
    return Bar(f"≤ {limit:g} ×", limit)


def ratio_row(
    what: str,
    against: str,
    bar: Bar | None,
    compared: Comparison,
    *,
    unit: str = "s",
    scale: float = 1.0,
) -> Row:
    """A paired ratio with its interval and the medians of both in `unit`."""
    low, high = compared.interval
    first, second = (
        statistics.median(samples) / scale for samples in (compared.first, compared.second)
    )
    value = (
        f"{compared.ratio:.3f} × (95 % {low:.3f}–{high:.3f}, {_pairs(len(compared.first))}); "
        f"{first:.3g} {unit} against {second:.3g} {unit}"
    )
    if bar is None:
        return Row(what, value, against, "")
    if not compared.is_measurement:
        enough = len(compared.first) >= MEDIAN_OF
        words = _unsure(bar, low, high) if enough else UNSURE
        return Row(what, value, against, bar.words, words)
    return Row(what, value, against, bar.words, MET if bar.met_by(compared.ratio) else MISSED)


def figure_row(what: str, bar: Bar, samples: Sequence[float], unit: str, against: str = "") -> Row:
    """A figure that has a bar of its own: its median, interval and worst.

    It is no measurement while the bar is inside the interval, nor with too few samples.
    """
    low, high = bootstrap_interval(samples)
    middle = statistics.median(samples)
    worst = min(samples) if bar.more_is_better else max(samples)
    value = (
        f"{middle:.3g} {unit} (95 % {low:.3g}–{high:.3g}, {len(samples)} times, "
        f"worst {worst:.3g} {unit})"
    )
    verdict = MET if bar.met_by(middle) else MISSED
    sure = len(samples) >= MEDIAN_OF and bar.met_by(low) == bar.met_by(high) == bar.met_by(middle)
    return Row(what, value, against, bar.words, verdict if sure else UNSURE)


def _unsure(bar: Bar, low: float, high: float) -> str:
    """No measurement; but where the bar is outside the interval it says on which side."""
    ends = {bar.met_by(low), bar.met_by(high)}
    if len(ends) > 1:
        return UNSURE
    return f"{UNSURE}; the whole interval {'meets' if ends.pop() else 'misses'} the bar"


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"
