"""What a sample is, and what bars can see."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.bench import memory, rates, recovery
from tests.bench.catalog import MEASURES
from tests.bench.rates import in_turn
from tests.bench.rows import MET, MISSED, Line
from tests.bench.starts import by_hand_of
from tests.bench.training import Point, Training


class Steady(Training):
    """A training that has made so many steps a second for a minute."""

    def __init__(self, steps: float) -> None:
        super().__init__()
        self._steps = steps

    def processes(self) -> Sequence[subprocess.Popen[bytes]]:
        return ()

    def points(self) -> list[Point]:
        since = time.time() - 60
        return [Point(since + tick / 100, {"all": int(tick * self._steps)}) for tick in range(6000)]

    def tasks(self) -> dict[str, list[int]]:
        return {}

    def everybody_trains(self) -> bool:
        return True

    def words(self) -> str:
        return ""


def lines(name: str, sample: Mapping[str, float]) -> list[Line]:
    one = MEASURES[name]
    samples = {column: (value,) * one.samples for column, value in sample.items()}
    return [row.line(samples, one.units) for row in one.rows]


def verdicts(name: str, sample: Mapping[str, float]) -> list[str]:
    return [line.verdict for line in lines(name, sample)]


def test_every_sample_of_a_rate_is_a_new_start_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "WARM_UP", 0.0)
    started: list[str] = []

    def start(name: str, steps: float) -> Callable[[], Training]:
        def begin() -> Training:
            started.append(name)
            return Steady(steps)

        return begin

    found = list(in_turn(start("a", 20), start("b", 10), 2, turns=1, settle=0, seconds=0.2))
    assert started == ["a", "b", "b", "a"]
    for sample in found:
        assert sample["ours"] == pytest.approx(2 * sample["by hand"], rel=1e-3)


@pytest.mark.parametrize("name", ["recovery", "recovery-pods"])
def test_a_recovery_at_three_times_the_time_misses_its_bars(name: str) -> None:
    here = {"survivor": 0.2, "worker": 2.0, "ps": 5.9, "chief": 6.7, "chief by hand": 6.0}
    assert verdicts(name, here) == [MET, "", MET, MET]
    slower = {**here, "ps": 3 * here["ps"], "chief": 3 * here["chief"]}
    assert verdicts(name, slower)[2:] == [MISSED, MISSED]


def test_a_worker_that_stops_with_a_lost_one_misses_the_bar() -> None:
    assert lines("recovery", {**dict.fromkeys(recovery.COLUMNS, 1.0), "survivor": 1.1})[0] == Line(
        "recovery: worker killed, longest pause of the other's steps",
        "1.1 s (95 % 1.1–1.1, 9 samples, worst 1.1 s)",
        recovery.BEFORE["survivor"],
        "< 1 s",
        MISSED,
    )


def test_the_share_of_reporting_is_told_by_both_its_definitions() -> None:
    sample = dict(zip(MEASURES["reporting"].units, (0.655, 0.87, 0.23), strict=True))
    second, first = lines("reporting", sample)
    assert (second.value[:6], second.verdict) == ("0.885 ", MET)
    assert (first.value[:5], first.verdict) == ("1.52 ", MISSED)
    assert "the second definition" in second.against
    assert "the first definition" in first.against


def test_a_bar_of_memory_says_the_least_leak_that_it_sees() -> None:
    (chief,) = lines("memory-chief", {"before": 674, "after": 675})
    steps = (memory.LATE[0] - memory.EARLY[0]) * memory.STEPS
    least = 0.05 * 674 * 1024 / steps
    assert f"from {least:.2g} KiB a step" in chief.against
    (ps,) = lines("memory-ps", {"before": 865, "after": 876})
    assert f"from {0.2 * 865 / 9:.2g} MiB a kill" in ps.against


def test_a_start_by_hand_makes_as_many_steps_in_its_first_call_as_ours() -> None:
    for one in rates.COMBINATIONS.values():
        assert by_hand_of(one).steps_per_call in (1, None)
