"""When a bar is met, missed, or the figure is none."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.rows import MET, MISSED, UNSURE, Bar, Figure, Line, Ratio, at_least, at_most

UNITS = {"ours": "s", "by hand": "s"}
BELOW_1 = Bar("< 1 s", 1.0)


def ratio(ours: Sequence[float], bar: Bar, by_hand: Sequence[float] | None = None) -> Line:
    samples = {"ours": ours, "by hand": by_hand or [1.0] * len(ours)}
    return Ratio("", "", bar).line(samples, UNITS)


def figure(samples: Sequence[float], *, counted: bool = False) -> str:
    return Figure("", BELOW_1, ("ours",), counted=counted).line({"ours": samples}, UNITS).verdict


def test_a_ratio_is_the_median_of_the_pairs_not_the_ratio_of_the_medians() -> None:
    line = ratio([1.0, 20.0, 3.0], at_least(1), [1.0, 10.0, 2.0])
    assert line.value.startswith("1.500 × ")
    assert line.value.endswith("3 pairs); 3 s against 2 s")


def test_a_ratio_at_its_bar_meets_it() -> None:
    assert ratio([0.97] * 9, at_least(0.97)).verdict == MET
    assert ratio([1.15] * 9, at_most(1.15)).verdict == MET


def test_a_ratio_beyond_its_bar_misses_it() -> None:
    assert ratio([0.96] * 9, at_least(0.97)).verdict == MISSED
    assert ratio([1.16] * 9, at_most(1.15)).verdict == MISSED


def test_a_ratio_whose_narrow_interval_holds_its_bar_says_so() -> None:
    both_sides = [0.96, 0.98, 0.99] * 5
    assert ratio(both_sides, at_least(0.97)).verdict == f"{MET}; the bar is inside the interval"


def test_too_few_pairs_meet_and_miss_nothing() -> None:
    assert ratio([2.0] * 5, at_least(0.97)).verdict == UNSURE
    assert ratio([2.0] * 8, at_least(0.97)).verdict == f"{UNSURE}; the whole interval meets the bar"
    assert ratio([0.9] * 8, at_least(0.97)).verdict == (
        f"{UNSURE}; the whole interval misses the bar"
    )


def test_too_wide_an_interval_is_no_measurement_but_may_lie_on_one_side() -> None:
    wide = [1.0, 1.5, 2.0] * 5
    assert ratio(wide, at_least(1.2)).verdict == UNSURE
    assert ratio(wide, at_least(0.9)).verdict == f"{UNSURE}; the whole interval meets the bar"
    assert ratio(wide, at_least(2.1)).verdict == f"{UNSURE}; the whole interval misses the bar"


def test_a_ratio_without_a_bar_has_no_verdict() -> None:
    line = Ratio("", "").line({"ours": [2.0] * 9, "by hand": [1.0] * 9}, UNITS)
    assert (line.bar, line.verdict) == ("", "")


def test_a_figure_whose_bar_is_inside_its_interval_has_no_verdict() -> None:
    assert figure([0.2, 0.3, 0.4] * 2) == MET
    assert figure([2.2, 2.3, 2.4] * 2) == MISSED
    assert figure([0.2, 0.9, 1.8] * 2) == UNSURE


def test_too_few_figures_meet_and_miss_nothing() -> None:
    assert figure([0.2] * 5) == UNSURE
    assert figure([0.2]) == UNSURE


def test_a_size_is_counted_once_but_never_two_ways() -> None:
    assert figure([0.2], counted=True) == MET
    assert figure([1.2], counted=True) == MISSED
    assert figure([0.2, 1.2], counted=True).startswith(UNSURE)


def test_a_figure_adds_columns_and_takes_others_off_sample_by_sample() -> None:
    row = Figure("", BELOW_1, ("a", "b"), ("c",))
    samples = {"a": [1.0, 5.0, 2.0], "b": [1.0, 1.0, 1.0], "c": [0.5, 5.5, 0.0]}
    assert row.columns == ("a", "b", "c")
    assert row.line(samples, dict.fromkeys("abc", "s")).value.startswith("1.5 s ")


def test_what_it_is_against_may_depend_on_the_samples() -> None:
    row = Ratio("", lambda samples: f"the best, {max(samples['by hand']):.0f}")
    assert row.line({"ours": [1.0, 1.0], "by hand": [2.0, 7.0]}, UNITS).against == "the best, 7"
