"""Seconds that a killed task costs, on this machine: `kill -9` of the whole task.

A loss is compared with what it would cost by hand: somebody who sees the chief end starts it again
at once, beside a ps and workers that serve. That start is made in the same run, so the bar is as
fast as the machine is, and a product that is slower than it misses it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tf_cluster_trainer.supervisor.saved_step import saved_step

from tests.bench import processes
from tests.bench.hand_run import ByHand
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import one_pair
from tests.bench.rates import COMBINATIONS
from tests.bench.rows import Bar, Figure
from tests.bench.training import Point
from tests.support.waiting import eventually

# Seconds of a measurement: steady before the loss, and what comes of it after.
STEADY = 4.0
WATCHED = 8.0
IN_GRAPH_ASYNC = COMBINATIONS["in-graph-async"]
COLUMNS = ("survivor", "worker", "ps", "chief", "chief by hand")
BY_HAND = "by hand: the chief started again at once, beside a ps and workers that serve"
# Told on the page: bars that were moved.
BEFORE = {
    "survivor": "first definition: until 90 % of its rate before; it gains when the other is gone",
    "ps": "first definition: less one start of a ps and two of our own chief",
    "chief": "first definition: less a start of our own chief, beside three other processes'",
}


def measure(
    what: str,
    killed: str,
    take: Callable[..., Iterator[Sample]],
    *,
    minutes: float,
    on_cluster: bool,
) -> Measure:
    """Each sample starts once, loses each kind once, and starts by hand."""
    return Measure(
        take,
        9,
        minutes,
        dict.fromkeys(COLUMNS, "s"),
        [
            Figure(
                f"{what}: worker {killed}, longest pause of the other's steps",
                Bar("< 1 s", 1.0),
                ("survivor",),
                against=BEFORE["survivor"],
            ),
            Figure(f"{what}: worker {killed}, seconds to its next step", None, ("worker",)),
            *(
                Figure(
                    f"{what}: {role} {killed}, seconds to the next step less those by hand",
                    Bar("≤ 2 s", 2.0),
                    (role,),
                    ("chief by hand",),
                    f"{BY_HAND}; {BEFORE[role]}",
                )
                for role in ("ps", "chief")
            ),
        ],
        on_cluster,
    )


def _take(count: int) -> Iterator[Sample]:
    """In-graph async, two workers, one ps."""
    for number in range(count):
        ours, by_hand = one_pair(_ours, chief_by_hand, number)
        yield {**ours, **by_hand}


def chief_by_hand() -> Sample:
    """Seconds from the death of a chief by hand to the first step of the next."""
    with ByHand(IN_GRAPH_ASYNC.by_hand) as training:
        training.wait_for_all()
        time.sleep(STEADY)
        killed = training.start_client_again()
        return {"chief by hand": training.wait_for_first_step() - killed}


def _ours() -> Sample:
    train = {"checkpoint": {"seconds": 3}}
    document = params(steps_per_call=10, report=0.1, train=train)
    with Ours(document) as training:
        training.wait_for_all()
        return {
            **lost_worker(lambda: _kill(training, "worker-1"), training.points),
            "ps": _next_step_without(training, "ps-0"),
            "chief": _next_step_without(training, "chief-0"),
        }


def lost_worker(kill: Callable[[], float], points_now: Callable[[], Sequence[Point]]) -> Sample:
    """The longest pauses of worker 0 and of worker 1, which `kill` takes away and says when.

    Returns when worker 1 makes steps again.
    """
    time.sleep(STEADY)  # a pause has a step before it
    killed = kill()
    time.sleep(WATCHED)
    made = points_now()[-1].counts["workers/1_steps"]
    eventually(
        "steps of worker 1",
        lambda: points_now()[-1].counts["workers/1_steps"] > made,
        60,
    )
    points = points_now()
    return {
        name: longest_pause(points, f"workers/{index}_steps", killed)
        for index, name in enumerate(("survivor", "worker"))
    }


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


def longest_pause(points: Sequence[Point], name: str, since: float) -> float:
    """The most seconds that one counter stood still after `since`, as far as the points tell.

    What it stood still before that is not counted.
    """
    moved = [
        now.time
        for last, now in pairwise(points)
        if now.counts.get(name, 0) > last.counts.get(name, 0) and now.time > since
    ]
    ended = points[-1].time
    return max(after - before for before, after in pairwise([since, *moved, ended]))


MEASURES = {
    "recovery": measure("recovery", "killed", _take, minutes=16, on_cluster=False),
}
