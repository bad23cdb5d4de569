"""The loop of a worker that trains by itself, the worker is arithmetic."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer.loop import worker as worker_loop
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.plan import Plan

TOTAL = 1_000_000
POLL = 0.2
A_STEP = 0.01


class Waits:
    """Looks every 0.2 s; makes no step at first, then calls that take a hundredth a step."""

    def __init__(self, stop: threading.Event, *, waits: float, until: float) -> None:
        self.now = 0.0
        self.asked: list[int] = []
        self._stop = stop
        self._waits, self._until = waits, until
        self._made = 0
        self._call = (0, 0.0)  # its steps, and when it ends

    def made(self) -> int:
        return self._made

    def steps(self, most: int, *, stop: bool) -> bool:
        steps, end = self._call
        if self.now >= self._waits and not steps:
            self.asked.append(most)
            self._call = steps, end = most, self.now + most * A_STEP
        self.now = min(self.now + POLL, end) if steps else self.now + POLL
        if steps and self.now >= end:
            self._made += steps
            self._call = (0, 0.0)
        if self.now > self._until:
            self._stop.set()
        return not stop

    def counters(self) -> TrainingCounters:
        return TrainingCounters(self._made, self._made, {"0": self._made}, self._made, 0.0, {}, 0)

    def devices(self) -> Mapping[str, str]:
        return {}

    def copy(self) -> Mapping[str, Any]:
        return {}

    def leave(self) -> None:
        """Nobody waits."""

    def ended_by(self) -> tuple[str, ...]:
        return ()


def plan() -> Plan:
    return Plan(
        step=0,
        total=TOTAL,
        steps_per_call=None,
        max_in_flight=1,
        report_seconds=2,
        save_seconds=60,
        save_steps=None,
    )


def test_looks_without_a_step_make_no_call_longer() -> None:
    stop = threading.Event()
    worker = Waits(stop, waits=60, until=120)
    worker_loop.run_follower(plan(), worker, stop, clock=lambda: worker.now)
    assert worker.asked[0] == 1
    assert max(worker.asked) * A_STEP <= 0.5


def test_the_client_reports_and_saves_while_no_step_is_made() -> None:
    stop = threading.Event()
    worker = Waits(stop, waits=1000, until=200)
    reports: list[int] = []
    saves: list[int] = []
    finished = worker_loop.run_chief(
        plan(),
        worker,
        stop=stop,
        report=lambda counters: reports.append(counters.step),
        save=lambda counters: saves.append(counters.step),
        clock=lambda: worker.now,
    )
    assert not finished
    assert len(reports) > 50
    assert len(saves) == 3
