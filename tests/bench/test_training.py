"""What a rate and a recovery are, told from points."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bench import processes
from tests.bench.recovery import seconds_to_rate
from tests.bench.training import Point, steps_per_second


def of_one(*pairs: tuple[float, int]) -> list[Point]:
    return [Point(time, {"workers/0_steps": steps}) for time, steps in pairs]


def test_a_rate_is_taken_from_change_to_change_not_from_point_to_point() -> None:
    leaps = of_one((0.0, 0), (1.0, 1000), (2.0, 1000), (3.0, 2000), (4.0, 2000))
    assert steps_per_second(leaps) == 500


def test_the_rates_of_all_workers_are_summed() -> None:
    points = [Point(float(t), {"a": 10 * t, "b": 30 * t}) for t in range(5)]
    assert steps_per_second(points) == 40


def test_one_change_tells_no_rate() -> None:
    with pytest.raises(ValueError, match="too few steps"):
        steps_per_second(of_one((0.0, 0), (1.0, 10)))


def test_a_survivor_that_never_paused_recovers_at_once() -> None:
    steady = of_one(*((t / 10, t * 10) for t in range(100)))
    assert seconds_to_rate(steady, "workers/0_steps", 5.05, 100) == 0


def test_a_pause_after_the_kill_is_the_time_to_recover() -> None:
    before = [(t / 10, t * 10) for t in range(50)]
    after = [(7.0 + t / 10, 490 + t * 10) for t in range(20)]
    seconds = seconds_to_rate(of_one(*before, *after), "workers/0_steps", 4.95, 100)
    assert 1.4 < seconds <= 2.1


def test_a_rate_that_never_comes_back_is_said() -> None:
    slow = of_one(*((t / 10, t) for t in range(100)))
    with pytest.raises(ValueError, match="never again"):
        seconds_to_rate(slow, "workers/0_steps", 5.05, 100)


def test_a_tree_has_grandchildren_and_each_has_memory() -> None:
    grandchild = [sys.executable, "-c", "input()"]
    code = f"import subprocess; subprocess.run({grandchild})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        while len(processes.tree(child.pid)) < 2:
            assert child.poll() is None
        pids = processes.tree(child.pid)
        assert pids[0] == child.pid
        assert all(processes.resident(pid) > 0 for pid in pids)
