"""Memory of the tasks: against those by hand, over a long run, and after many losses."""

from __future__ import annotations

import signal
import statistics
import sys
import time
from collections.abc import Callable

from tests.bench import processes
from tests.bench.hand_run import ByHand
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import Comparison, one_pair
from tests.bench.rates import COMBINATIONS, Start
from tests.bench.rows import Bar, Row, at_most, ratio_row
from tests.cluster.waiting import eventually

MIB = float(1 << 20)
# Seconds of a measurement: the peak is that of a training under way, not of its start.
TRAINED = 10.0
ROLES = {"chief": "chief-0", "worker": "worker-0", "ps": "ps-0"}
STEPS, CHECKPOINTS = 20_000, 40
KILLS = 10
# After a start or a kill memory moves for a moment: what stays is meant.
SETTLED = 3.0


def against_by_hand(pairs: int) -> list[Row]:
    """The most that a task had in memory, its supervisor added, against the process by hand."""
    one = COMBINATIONS["in-graph-async"]
    document = params(steps_per_call=10, report=2.0)
    found = []
    for number in range(pairs):
        ours, by_hand = one_pair(
            lambda: _peaks(lambda: Ours(document)),
            lambda: _peaks(lambda: ByHand(one.by_hand)),
            number,
        )
        found.append((ours, by_hand))
        words = ", ".join(f"{r} {ours[r] / MIB:.0f}, {by_hand[r] / MIB:.0f}" for r in ROLES)
        print(f"  pair {number + 1} (MiB): {words}", file=sys.stderr, flush=True)
    return [
        ratio_row(
            f"memory of the {role}, peak of resident pages, supervisor included",
            f"by hand: {one.by_hand_is}",
            at_most(1.10),
            Comparison(
                *(tuple(sample[role] for sample in side) for side in zip(*found, strict=True))
            ),
            unit="MiB",
            scale=MIB,
        )
        for role in ROLES
    ]


def chief_over_time(pairs: int) -> list[Row]:
    """The chief's memory in the last tenth of a run against that in its second tenth."""
    what = f"memory of the chief at the end of {STEPS} steps with {CHECKPOINTS} checkpoints"
    return _growth(what, "itself after a tenth of them", at_most(1.05), _long_run, pairs)


def ps_after_losses(pairs: int) -> list[Row]:
    """A ps that has a variable of 100 MB after so many deaths of the chief's child."""
    what = f"memory of a ps with a variable of 100 MB after {KILLS} kills of the chief"
    return _growth(what, "itself after the first", at_most(1.2), _kills, pairs)


def _growth(
    what: str, against: str, bar: Bar, measure: Callable[[], tuple[float, float]], runs: int
) -> list[Row]:
    """What a process has in the end against what it had before, in so many runs of `measure`."""
    before, after = [], []
    for number in range(runs):
        first, last = measure()
        before.append(first)
        after.append(last)
        words = f"{first / MIB:.0f} MiB, then {last / MIB:.0f} MiB"
        print(f"  {number + 1}: {words}", file=sys.stderr, flush=True)
    compared = Comparison(tuple(after), tuple(before))
    return [ratio_row(what, against, bar, compared, unit="MiB", scale=MIB)]


def _peaks(start: Start) -> dict[str, int]:
    with start() as training:
        training.wait_for_all()
        time.sleep(TRAINED)
        tasks = training.tasks()
        return {
            role: sum(processes.resident(pid, "VmHWM") for pid in tasks[task])
            for role, task in ROLES.items()
        }


def _long_run() -> tuple[float, float]:
    cadence = {"checkpoint": {"seconds": 3600, "steps": STEPS // CHECKPOINTS}}
    document = params(steps_per_call=10, report=0.5, train={"steps": STEPS, **cadence})
    seen: list[tuple[float, int]] = []
    with Ours(document) as training:
        training.wait_for_all()
        pids = training.tasks()["chief-0"]
        # Not beyond the last step: the evaluation and the export have memory of their own.
        while training.points()[-1].step < STEPS:
            seen.append((time.time(), sum(processes.resident(pid) for pid in pids)))
            time.sleep(0.25)  # between two samples
        points = training.points()
    early, late = (
        [
            memory
            for at, memory in seen
            if points[0].time <= at
            and low <= max(p.step for p in points if p.time <= at) / STEPS <= high
        ]
        for low, high in ((0.1, 0.2), (0.9, 1.0))
    )
    return statistics.median(early), statistics.median(late)


def _kills() -> tuple[float, float]:
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
    return found[0], found[-1]


def _after_a_kill(training: Ours) -> float:
    """Memory of the ps, some seconds after the chief's child was killed and made steps again."""
    time.sleep(SETTLED)
    known = len(training.event_files())
    processes.send(training.tasks()["chief-0"][-1:], signal.SIGKILL)
    eventually(
        "a step of the next start",
        lambda: any(training.points_of(file) for file in training.event_files()[known:]),
        60,
    )
    time.sleep(SETTLED)
    return float(sum(processes.resident(pid) for pid in training.tasks()["ps-0"]))
