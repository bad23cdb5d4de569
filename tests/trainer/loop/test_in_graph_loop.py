"""The outer loop alone, with a strategy that is a counter."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from tf_cluster_trainer.loop import in_graph as in_graph_loop
from tf_cluster_trainer.loop.cadence import Cadence
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.plan import Plan


class Counter:
    """Two workers that make one queued call each between two looks."""

    def __init__(self, step: int = 0) -> None:
        self.made = step
        self.queue: list[int] = []
        self.calls: list[int] = []
        self.lose_next = False

    def schedule(self, steps: int) -> None:
        self.queue.append(steps)
        self.calls.append(steps)

    def outstanding(self) -> int:
        for _ in range(min(2, len(self.queue))):
            steps = self.queue.pop(0)
            self.made += 0 if self.lose_next else steps
            self.lose_next = False
        return len(self.queue)

    def quiesced(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def counters(self) -> TrainingCounters:
        return TrainingCounters(self.made, self.made, {"0": self.made}, self.made, 0.0, {}, 0)


def run(
    calls: Counter,
    *,
    step: int = 0,
    total: int = 95,
    report: Callable[[TrainingCounters], None] = lambda _: None,
    save: Callable[[TrainingCounters], None] = lambda _: None,
    save_steps: int | None = None,
    stop: threading.Event | None = None,
    per_call: int | None = 10,
) -> bool:
    plan = Plan(
        step=step,
        total=total,
        steps_per_call=per_call,
        max_in_flight=2,
        report_seconds=1e9,
        save_seconds=1e9,
        save_steps=save_steps,
    )
    return in_graph_loop.run(
        plan, calls, stop=stop or threading.Event(), report=report, save=save, clock=lambda: 0.0
    )


def test_the_last_call_makes_what_remains() -> None:
    calls = Counter()
    assert run(calls)
    assert calls.made == 95
    assert calls.calls == [10] * 9 + [5]


def test_a_resumed_run_makes_only_the_rest() -> None:
    calls = Counter(step=90)
    assert run(calls, step=90)
    assert calls.calls == [5]


def test_a_run_at_its_total_makes_no_call() -> None:
    calls = Counter(step=95)
    assert run(calls, step=95)
    assert calls.calls == []


def test_steps_that_got_lost_are_made_again() -> None:
    calls = Counter()
    calls.lose_next = True
    assert run(calls)
    assert calls.made == 95


def test_a_stop_is_seen_though_no_worker_works() -> None:
    stop = threading.Event()
    calls = Counter()
    looks = iter(range(5))

    def nobody_works() -> int:
        if next(looks, None) is None:
            stop.set()
        return len(calls.queue)

    calls.outstanding = nobody_works  # type: ignore[method-assign]
    assert not run(calls, stop=stop)
    assert calls.made == 0


def test_it_saves_by_steps_and_reports_the_first_step() -> None:
    saved: list[int] = []
    reported: list[int] = []
    run(
        Counter(),
        total=300,
        save_steps=100,
        save=lambda counters: saved.append(counters.step),
        report=lambda counters: reported.append(counters.step),
    )
    assert len(saved) == 2 or (len(saved) == 3 and saved[-1] == 300)
    assert len(reported) == 1 and reported[0] > 0


def test_a_cadence_is_due_by_seconds_or_by_steps() -> None:
    now = [0.0]
    cadence = Cadence(seconds=10, steps=5, step=0, clock=lambda: now[0])
    assert not cadence.due(4)
    assert cadence.due(5)
    cadence.reset(5)
    now[0] = 9.9
    assert not cadence.due(9)
    now[0] = 10.0
    assert cadence.due(5)


def test_calls_whose_size_it_finds_reach_the_total_too() -> None:
    calls = Counter()
    assert run(calls, per_call=None)
    assert (calls.made, sum(calls.calls)) == (95, 95)
