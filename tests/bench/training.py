"""A training in the background that can be held, gone on with, and asked how far it is."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from tests.bench import processes
from tests.support.waiting import eventually

START_SECONDS = 60
BREATH = 0.7

Kind = TypeVar("Kind", bound="Training")


@dataclass(frozen=True)
class Point:
    """So many steps at a time (seconds since the epoch), by who makes them."""

    time: float
    counts: Mapping[str, int]

    @property
    def step(self) -> int:
        """Steps of all."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Span:
    """A while between two times, and the seconds of CPU that a training took in it."""

    began: float
    ended: float
    cpu: float


class Training(ABC):
    """Ours or one by hand, in a folder of its own.

    Leaving the context kills every process of it and removes the folder.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tf-cluster-bench-")
        self.folder = Path(self._folder.name)
        self.began = time.time()

    def __enter__(self: Kind) -> Kind:
        return self

    def __exit__(self, *_: object) -> None:
        self.hold()
        processes.send(self.pids(), signal.SIGKILL)
        for process in self.processes():
            process.wait()
        self._folder.cleanup()

    @abstractmethod
    def processes(self) -> Sequence[subprocess.Popen[bytes]]:
        """Those started here."""

    @abstractmethod
    def points(self) -> list[Point]:
        """How far it was when, oldest first."""

    @abstractmethod
    def tasks(self) -> dict[str, list[int]]:
        """The processes of each task, `worker-0` and so on; the one with TensorFlow last."""

    @abstractmethod
    def everybody_trains(self) -> bool:
        """Whether every worker has made a step."""

    @abstractmethod
    def words(self) -> str:
        """What it printed, for a message."""

    def pids(self) -> list[int]:
        """All its processes, parents first."""
        return [pid for process in self.processes() for pid in processes.tree(process.pid)]

    def cpu(self) -> float:
        """Seconds of CPU that all its tasks have used so far."""
        pids = [pid for pids in self.tasks().values() for pid in pids]
        return sum(map(processes.cpu_seconds, pids))

    def hold(self) -> None:
        """Stop every process where it is: nothing of it runs until `go_on`."""
        processes.send(self.pids(), signal.SIGSTOP)

    def go_on(self) -> None:
        """The reverse; parents last, so that they see their children run."""
        processes.send(reversed(self.pids()), signal.SIGCONT)

    def wait_for_first_step(self) -> float:
        """When it was made."""
        eventually("the first step", self._has_begun, START_SECONDS, every=0.1)
        return self.points()[0].time

    def wait_for_all(self) -> None:
        """Wait until every worker trains."""
        eventually(
            "a step of every worker",
            lambda: self._has_begun() and self.everybody_trains(),
            START_SECONDS,
            every=0.1,
        )

    def _has_begun(self) -> bool:
        for process in self.processes():
            if process.poll() is not None:
                raise RuntimeError(f"ended with {process.returncode}:\n{self.words()}")
        return bool(self.points())


def steps_per_second(points: Sequence[Point]) -> float:
    """Each counter's rate between its first and its last change, summed.

    So a counter that moves in large leaps (a call of 1000 steps) is not cut in the middle of one.
    Raises ValueError when none changed twice.
    """
    found = []
    for name in points[-1].counts if points else ():
        values = [(point.time, point.counts.get(name, 0)) for point in points]
        changes = [now for last, now in pairwise(values) if now[1] > last[1]]
        if len(changes) > 1:
            (began, first), (ended, last_count) = changes[0], changes[-1]
            found.append((last_count - first) / (ended - began))
    if not found:
        raise ValueError(f"too few steps to tell a rate: {points[-3:]}")
    return sum(found)


def window(training: Training, *, settle: float, seconds: float) -> float:
    """Steps a second over so many seconds; `settle` seconds go first."""
    return _mean_rate(training, [_span(training, settle, seconds)])


def rates_in_turn(
    one: Training, two: Training, turns: int, settle: float, seconds: float
) -> tuple[float, float]:
    """Steps a second of each, timed so many times for a moment while the other is held."""
    first, second = _in_turn(one, two, turns, settle, seconds)
    return _mean_rate(one, first), _mean_rate(two, second)


def costs_in_turn(
    one: Training, two: Training, turns: int, settle: float, seconds: float
) -> tuple[float, float]:
    """Seconds of CPU that all tasks of each take for a step, told as `rates_in_turn` does."""
    first, second = _in_turn(one, two, turns, settle, seconds)
    return _mean_cost(one, first), _mean_cost(two, second)


def _in_turn(
    one: Training, two: Training, turns: int, settle: float, seconds: float
) -> tuple[list[Span], list[Span]]:
    """So many spans of each, in which the other is held."""
    spans: tuple[list[Span], list[Span]] = ([], [])
    for _ in range(turns):
        for training, other, found in ((one, two, spans[0]), (two, one, spans[1])):
            other.hold()
            try:
                found.append(_span(training, settle, seconds))
            finally:
                other.go_on()
    time.sleep(BREATH)  # the last one held may be the next one: nobody of it must be taken for lost
    return spans


def _span(training: Training, settle: float, seconds: float) -> Span:
    """The seconds that go by from now on, but for the first ones."""
    time.sleep(settle)
    began, cpu = time.time(), training.cpu()
    time.sleep(seconds)
    return Span(began, time.time(), training.cpu() - cpu)


def _mean_rate(training: Training, spans: Sequence[Span]) -> float:
    points = training.points()
    return statistics.mean(
        steps_per_second([point for point in points if span.began <= point.time <= span.ended])
        for span in spans
    )


def _mean_cost(training: Training, spans: Sequence[Span]) -> float:
    spent = statistics.mean(span.cpu / (span.ended - span.began) for span in spans)
    return spent / _mean_rate(training, spans)


def quiet_environment() -> dict[str, str]:
    """This process' environment without proxies: gRPC would use one for any task."""
    own = {name: of for name, of in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**own, "PYTHONUNBUFFERED": "1"}
