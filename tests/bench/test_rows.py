"""When a bar is met, missed, or the figure is none."""

from __future__ import annotations

from pathlib import Path

from tests.bench import results
from tests.bench.pairs import Comparison
from tests.bench.rows import MET, MISSED, UNSURE, Bar, Row, at_least, at_most, figure_row, ratio_row


def verdict(ratio: float, bar: Bar, pairs: int = 9) -> str:
    return ratio_row("", "", bar, Comparison((ratio,) * pairs, (1.0,) * pairs)).verdict


def test_a_ratio_at_its_bar_meets_it() -> None:
    assert verdict(0.97, at_least(0.97)) == MET
    assert verdict(1.15, at_most(1.15)) == MET


def test_a_ratio_beyond_its_bar_misses_it() -> None:
    assert verdict(0.96, at_least(0.97)) == MISSED
    assert verdict(1.16, at_most(1.15)) == MISSED


def test_few_pairs_or_a_wide_interval_have_no_verdict() -> None:
    assert verdict(2.0, at_least(0.97), pairs=5) == UNSURE
    assert verdict(2.0, at_least(0.97), pairs=8) == f"{UNSURE}; the whole interval meets the bar"
    assert verdict(0.9, at_least(0.97), pairs=8) == f"{UNSURE}; the whole interval misses the bar"
    wide = Comparison((1.0, 1.5, 2.0) * 3, (1.0,) * 9)
    assert ratio_row("", "", at_least(1.2), wide).verdict == UNSURE


def test_a_figure_whose_bar_is_inside_its_interval_has_no_verdict() -> None:
    bar = Bar("< 1 s", 1.0)
    assert figure_row("", bar, [0.2, 0.3, 0.4] * 2, "s").verdict == MET
    assert figure_row("", bar, [2.2, 2.3, 2.4] * 2, "s").verdict == MISSED
    assert figure_row("", bar, [0.2, 0.9, 1.8] * 2, "s").verdict == UNSURE
    assert figure_row("", bar, [0.2] * 5, "s").verdict == UNSURE


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    made = {name: results.made_here([Row(name, "1 s", "", "", MET)]) for name in ("b", "a", "old")}
    results.save(made, ("a", "b"), file)
    assert results.load(file) == {"a": made["a"], "b": made["b"]}


def test_the_page_is_that_of_the_results() -> None:
    from tests.bench.__main__ import NAMES

    page = results.PAGE.read_text(encoding="utf-8")
    assert page == results.page(results.load(), NAMES)
