"""What a rate and a pause are, told from points."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bench import processes
from tests.bench.recovery import longest_pause
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


def test_the_longest_pause_is_between_two_steps_after_the_loss() -> None:
    before = [(t / 10, t) for t in range(20)]  # 1.9: it stands still, which is not of the loss
    after = [(3.0, 20), (3.1, 21), (3.2, 21), (3.3, 21), (4.5, 22), (4.6, 23)]
    points = of_one(*before, *after)
    assert longest_pause(points, "workers/0_steps", 2.8) == pytest.approx(1.4)
    assert longest_pause(points, "workers/0_steps", 4.4) == pytest.approx(0.1)


def test_a_pause_that_does_not_end_lasts_until_the_last_look() -> None:
    stopped = of_one((0.0, 0), (1.0, 10), (2.0, 10), (9.0, 10))
    assert longest_pause(stopped, "workers/0_steps", 0.5) == 8


def test_a_tree_has_grandchildren_and_each_has_memory() -> None:
    grandchild = [sys.executable, "-c", "input()"]
    code = f"import subprocess; subprocess.run({grandchild})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        while len(processes.tree(child.pid)) < 2:
            assert child.poll() is None
        pids = processes.tree(child.pid)
        assert pids[0] == child.pid
        assert all(processes.resident(pid) > 0 for pid in pids)
