"""Memory of the tasks: against those by hand, over a long run, and after many losses."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Iterator

from tests.bench import processes
from tests.bench.hand_run import ByHand
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import one_pair
from tests.bench.rates import COMBINATIONS, Start
from tests.bench.rows import Bar, Ratio, Samples, at_most
from tests.support.waiting import eventually

MIB = float(1 << 20)
# Seconds of a measurement: the peak is that of a training under way, not of its start.
TRAINED = 10.0
ROLES = {"chief": "chief-0", "worker": "worker-0", "ps": "ps-0"}
IN_GRAPH_ASYNC = COMBINATIONS["in-graph-async"]
STEPS, CHECKPOINTS = 20_000, 40
EARLY, LATE = (0.1, 0.2), (0.9, 1.0)  # parts of the steps
KILLS = 10
# After a start or a kill memory moves for a moment: what stays is meant.
SETTLED = 3.0
GROWTH = ("after", "before")
NOT_GROWN, HARDLY_GROWN = at_most(1.05), at_most(1.2)


def _against_by_hand(count: int) -> Iterator[Sample]:
    """The most that a task had in memory, its supervisor added, against the process by hand."""
    document = params(steps_per_call=10, report=2.0)
    for number in range(count):
        ours, by_hand = one_pair(
            lambda: _peaks(lambda: Ours(document)),
            lambda: _peaks(lambda: ByHand(IN_GRAPH_ASYNC.by_hand)),
            number,
        )
        yield {**ours, **{f"{role} by hand": memory for role, memory in by_hand.items()}}


def _peaks(start: Start) -> dict[str, float]:
    """MiB by role."""
    with start() as training:
        training.wait_for_all()
        time.sleep(TRAINED)
        tasks = training.tasks()
        return {
            role: sum(processes.resident(pid, "VmHWM") for pid in tasks[task]) / MIB
            for role, task in ROLES.items()
        }


def _long_run(count: int) -> Iterator[Sample]:
    """The chief's memory in the last tenth of a run against that in its second tenth."""
    for _ in range(count):
        yield dict(zip(GROWTH, _early_and_late(), strict=True))


def _early_and_late() -> tuple[float, float]:
    cadence = {"checkpoint": {"seconds": 3600, "steps": STEPS // CHECKPOINTS}}
    document = params(steps_per_call=10, report=0.5, train={"steps": STEPS, **cadence})
    seen: list[tuple[float, float]] = []
    with Ours(document) as training:
        training.wait_for_all()
        pids = training.tasks()["chief-0"]
        # Not beyond the last step: the evaluation and the export have memory of their own.
        while training.points()[-1].step < STEPS:
            seen.append((time.time(), sum(processes.resident(pid) for pid in pids) / MIB))
            time.sleep(0.25)  # between two samples
        points = training.points()
    early, late = (
        [
            memory
            for at, memory in seen
            if points[0].time <= at
            and low <= max(p.step for p in points if p.time <= at) / STEPS <= high
        ]
        for low, high in (EARLY, LATE)
    )
    return statistics.median(late), statistics.median(early)


def _kills(count: int) -> Iterator[Sample]:
    """A ps that has a variable of 100 MB after so many deaths of the chief's child."""
    for _ in range(count):
        yield dict(zip(GROWTH, _last_and_first(), strict=True))


def _last_and_first() -> tuple[float, float]:
    document = params(
        steps_per_call=1,
        report=0.5,
        workers=1,
        train={
            "batchSize": 4,
            "optimizer": {"name": "SGD", "learningRate": 0.001},
            "checkpoint": {"seconds": 1.5, "keep": 1},  # each gives the restarts back
        },
    )
    document["program"]["module"] = "programs:Dense"
    with Ours(document) as training:
        training.wait_for_all()
        found = [_after_a_kill(training) for _ in range(KILLS)]
    return found[-1], found[0]


def _after_a_kill(training: Ours) -> float:
    """MiB of the ps, some seconds after the chief's child was killed and made steps again."""
    time.sleep(SETTLED)
    known = len(training.event_files())
    processes.send(training.tasks()["chief-0"][-1:], signal.SIGKILL)
    eventually(
        "a step of the next start",
        lambda: any(training.points_of(file) for file in training.event_files()[known:]),
        60,
    )
    time.sleep(SETTLED)
    return sum(processes.resident(pid) for pid in training.tasks()["ps-0"]) / MIB


def _seen_chief(samples: Samples) -> str:
    between = (sum(LATE) - sum(EARLY)) / 2
    least = _least_seen(NOT_GROWN, samples)
    steps, checkpoints = (least / (between * of) for of in (STEPS, CHECKPOINTS))
    return (
        f"itself after a tenth of them; the bar sees a leak from {1024 * steps:.2g} KiB a step, or "
        f"{checkpoints:.2g} MiB a checkpoint, on"
    )


def _seen_ps(samples: Samples) -> str:
    least = _least_seen(HARDLY_GROWN, samples) / (KILLS - 1)
    return f"itself after the first; the bar sees a leak from {least:.2g} MiB a kill on"


def _least_seen(bar: Bar, samples: Samples) -> float:
    """MiB by which a median process may grow."""
    return (bar.limit - 1) * statistics.median(samples["before"])


MEASURES = {
    "memory": Measure(
        _against_by_hand,
        9,
        8,
        dict.fromkeys((*ROLES, *(f"{role} by hand" for role in ROLES)), "MiB"),
        [
            Ratio(
                f"memory of the {role}, peak of resident pages, supervisor included",
                f"by hand: {IN_GRAPH_ASYNC.by_hand_is}",
                at_most(1.10),
                (role, f"{role} by hand"),
            )
            for role in ROLES
        ],
    ),
    "memory-chief": Measure(
        _long_run,
        9,
        18,
        dict.fromkeys(GROWTH, "MiB"),
        [
            Ratio(
                f"memory of the chief at the end of {STEPS} steps with {CHECKPOINTS} checkpoints",
                _seen_chief,
                NOT_GROWN,
                GROWTH,
            )
        ],
    ),
    "memory-ps": Measure(
        _kills,
        15,
        35,
        dict.fromkeys(GROWTH, "MiB"),
        [
            Ratio(
                f"memory of a ps with a variable of 100 MB after {KILLS} kills of the chief",
                _seen_ps,
                HARDLY_GROWN,
                GROWTH,
            )
        ],
    ),
}
