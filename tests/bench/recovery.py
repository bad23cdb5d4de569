"""Seconds that a killed task costs, on this machine: `kill -9` of the whole task."""

from __future__ import annotations

import json
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tf_cluster_trainer.supervisor.saved_step import saved_step

from tests.bench import processes
from tests.bench.ours_run import Ours, params
from tests.bench.rows import Bar, Row, figure_row
from tests.bench.training import Point
from tests.cluster.waiting import eventually

# Seconds of a measurement: the rate before the loss, and what comes of it after.
STEADY = 4.0
WATCHED = 8.0
NINETY_PERCENT = 0.9
RATE_OVER = 0.5


@dataclass(frozen=True)
class Sample:
    """One run: seconds to start, then seconds after each loss."""

    ps_start: float
    chief_start: float
    worker: float
    ps: float
    chief: float


def recovery(samples: int) -> list[Row]:
    """In-graph async, two workers, one ps; each run starts once and loses each kind once."""
    found = []
    for _ in range(samples):
        found.append(_sample())
        print(f"  {found[-1]}", file=sys.stderr, flush=True)
    return rows("recovery", "killed", found)


def rows(what: str, killed: str, found: Sequence[Sample]) -> list[Row]:
    """Of each kind of loss."""
    return [
        figure_row(
            f"{what}: worker {killed}, seconds until 90 % of the survivor's rate before",
            Bar("< 1 s", 1.0),
            [one.worker for one in found],
            "s",
        ),
        figure_row(
            f"{what}: ps {killed}, seconds to the next step less (ps start + 2 × chief start)",
            Bar("≤ 2 s", 2.0),
            [one.ps - one.ps_start - 2 * one.chief_start for one in found],
            "s",
            _starts(f"ps {killed}", [(one.ps, one.ps_start, one.chief_start) for one in found]),
        ),
        figure_row(
            f"{what}: chief {killed}, seconds to the next step less the chief's start",
            Bar("≤ 2 s", 2.0),
            [one.chief - one.chief_start for one in found],
            "s",
            _starts(
                f"chief {killed}", [(one.chief, one.ps_start, one.chief_start) for one in found]
            ),
        ),
    ]


def _starts(what: str, seconds: Sequence[tuple[float, float, float]]) -> str:
    after, ps, chief = (sorted(of)[len(of) // 2] for of in zip(*seconds, strict=True))
    return f"{what}: {after:.1f} s; starts in the same run: ps {ps:.1f} s, chief {chief:.1f} s"


def _sample() -> Sample:
    train = {"checkpoint": {"seconds": 3}}
    document = params(steps_per_call=10, report=0.1, train=train)
    with Ours(document) as training:
        ps_start = _until_it_serves(training, "ps-0")
        first = training.wait_for_first_step()
        chief_start = first - processes.started_at(training.tasks()["chief-0"][0])
        training.wait_for_all()
        return Sample(
            ps_start=ps_start,
            chief_start=chief_start,
            worker=lost_worker(lambda: _kill(training, "worker-1"), training.points),
            ps=_next_step_without(training, "ps-0"),
            chief=_next_step_without(training, "chief-0"),
        )


def _until_it_serves(training: Ours, task: str) -> float:
    """Seconds from the start of the task's supervisor until its server accepts calls."""

    def serves() -> float | None:
        address = training.status_address(task)
        try:
            with urllib.request.urlopen(f"http://{address}/healthz", timeout=1) as answer:
                return time.time() if json.load(answer)["serving"] else None
        except (OSError, ValueError):
            return None  # it does not listen yet

    served = eventually(f"{task} to serve", serves, 60, every=0.05)
    return served - processes.started_at(training.tasks()[task][0])


def lost_worker(kill: Callable[[], float], points_now: Callable[[], Sequence[Point]]) -> float:
    """Seconds until worker 0 is at its rate after worker 1 is lost; `kill` says when that was.

    Returns when worker 1 makes steps again.
    """
    time.sleep(STEADY)  # the rate before
    killed = kill()
    time.sleep(WATCHED)  # the rate after
    points = points_now()
    before = [point for point in points if killed - STEADY <= point.time < killed]
    seconds = seconds_to_rate(points, "workers/0_steps", killed, rate(before, "workers/0_steps"))
    made = points[-1].counts["workers/1_steps"]
    eventually(
        "steps of worker 1",
        lambda: points_now()[-1].counts["workers/1_steps"] > made,
        60,
    )
    return seconds


def wait_for_a_save(saved: Callable[[], int | None]) -> None:
    """Until there is a checkpoint since the last loss; `saved` is the newest one's step."""
    before = saved() or 0
    eventually("a checkpoint", lambda: (saved() or 0) > before, 60, every=0.05)


def _next_step_without(training: Ours, task: str) -> float:
    """Seconds from the task's death to the first step of the start that follows."""
    wait_for_a_save(lambda: saved_step(training.run_dir))
    known = set(training.event_files())
    killed = _kill(training, task)

    def stepped() -> float | None:
        new = sorted(set(training.event_files()) - known)
        points = [point for file in new for point in training.points_of(file)]
        return points[0].time if points else None

    seconds = eventually(f"a step after {task} was lost", stepped, 60, every=0.05) - killed
    training.wait_for_all()
    return seconds


def _kill(training: Ours, task: str) -> float:
    """Supervisor and child at once; when."""
    pids = training.tasks()[task]
    killed = time.time()
    processes.send(pids, signal.SIGKILL)
    return killed


def seconds_to_rate(points: Sequence[Point], name: str, since: float, before: float) -> float:
    """Seconds from `since` to the first point that begins half a second at 90 % of a rate.

    Raises ValueError when there is none.
    """
    last_before = max((p for p in points if p.time < since), key=lambda p: p.time)
    after = [last_before, *(p for p in points if p.time >= since)]
    for number, point in enumerate(after):
        following = [p for p in after[number:] if p.time - point.time >= RATE_OVER]
        if following and rate([point, following[0]], name) >= NINETY_PERCENT * before:
            return max(0.0, point.time - since)
    raise ValueError(f"never again at 90 % of {before:.0f} steps/s in {WATCHED:g} s")


def rate(points: Sequence[Point], name: str) -> float:
    """Of one counter, from the first point to the last."""
    made = points[-1].counts[name] - points[0].counts[name]
    return made / (points[-1].time - points[0].time)
