"""The arithmetic behind every printed ratio."""

from __future__ import annotations

from tests.bench.pairs import Comparison, bootstrap_interval, compare


def test_the_ratio_is_the_median_of_the_pairs_not_the_ratio_of_the_medians() -> None:
    assert Comparison((1.0, 20.0, 3.0), (1.0, 10.0, 2.0)).ratio == 1.5


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert bootstrap_interval([2.0] * 9) == (2.0, 2.0)


def test_few_pairs_or_a_wide_interval_are_not_a_measurement() -> None:
    assert not Comparison((1.0,) * 8, (1.0,) * 8).is_measurement
    assert not Comparison((1.0, 2.0, 3.0) * 3, (1.0,) * 9).is_measurement
    assert Comparison((1.0,) * 9, (1.0,) * 9).is_measurement


def test_which_of_the_two_goes_first_alternates() -> None:
    order: list[str] = []

    def sample(name: str) -> float:
        order.append(name)
        return 1.0

    compare(lambda: sample("a"), lambda: sample("b"), 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
