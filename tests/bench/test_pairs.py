"""The arithmetic behind every printed ratio."""

from __future__ import annotations

from tests.bench.pairs import bootstrap_interval, in_pairs


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert bootstrap_interval([2.0] * 9) == (2.0, 2.0)


def test_which_of_the_two_goes_first_alternates() -> None:
    order: list[str] = []

    def sample(name: str, value: float) -> float:
        order.append(name)
        return value

    found = list(in_pairs(lambda: sample("a", 1.0), lambda: sample("b", 2.0), 3, ("a", "b")))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == [{"a": 1.0, "b": 2.0}] * 3
