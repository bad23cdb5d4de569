"""Steps a second: ours against loops by hand, and our own choice of K against fixed ones."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.bench.hand_run import ByHand, Program
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import NAMES, one_pair
from tests.bench.rows import Ratio, Samples, at_least
from tests.bench.training import Training, rates_in_turn, window

SAMPLES = 15
# In the first seconds K is found, caches fill, and both programs compile: not the steady rate.
WARM_UP = 5.0
REPORT = 0.5  # four times as often as by default: a turn needs some points
# Both trainings of a pair run all the time, but one is held while the other is timed. All that they
# show is one sample, of several short turns: a machine that is slow for a moment is so for both.
# With all-reduce a worker that is held for more than 5 s may be taken for lost.
TURNS, SETTLE, SECONDS = 5, 0.4, 2.5
# Our own K is found anew after a hold, and its calls take half a second.
LONG_SETTLE, LONG_SECONDS = 3.0, 10.0
FIXED = (1, 10, 100, 1000)  # steps a call
MICRO_BATCHES = 4
# Of the tutorial's loop, by the module of by_hand/: ours, and in words.
TUTORIALS = {
    "small": ("programs:Small", "two dense layers (256 units)"),
    "digits": ("programs:Digits", "the digits' convolutional net"),
}

Start = Callable[[], Training]


@dataclass(frozen=True)
class Combination:
    """Settings of ours, the program by hand that does the same, and what that is."""

    settings: dict[str, Any]
    by_hand: Program
    by_hand_is: str

    @property
    def steps_per_call(self) -> int:
        """The K of both."""
        return self.by_hand.steps_per_call or 1


COMBINATIONS = {
    "in-graph-async": Combination(
        {},
        Program("in_graph_async.py", ("digits",), 10),
        "ParameterServerStrategy, ClusterCoordinator",
    ),
    "in-graph-sync": Combination(
        {"update": "sync"},
        Program("in_graph_sync.py", ("digits",), 10),
        "a tower a worker in one tf.function",
    ),
    "between-graph-async": Combination(
        {"replication": "between-graph"},
        Program("between_graph.py", ("digits", "async"), 10, chief=False, after_the_first=True),
        "MonitoredTrainingSession",
    ),
    "between-graph-sync": Combination(
        {"replication": "between-graph", "update": "sync"},
        Program("between_graph.py", ("digits", "sync"), None, chief=False, after_the_first=True),
        "SyncReplicasOptimizer",
    ),
    "all-reduce": Combination(
        {"strategy": "all-reduce"},
        Program("all_reduce.py", ("digits",), 10, ps=0, chief=False),
        "MultiWorkerMirroredStrategy",
    ),
}


def against_by_hand(name: str) -> Measure:
    """The same strategy, model, batch, optimizer and K."""
    one = COMBINATIONS[name]
    document = params(steps_per_call=one.steps_per_call, report=REPORT, **one.settings)
    return _rates(
        partial(in_turn, lambda: Ours(document), lambda: ByHand(one.by_hand)),
        Ratio(
            f"steps/s, {name}, K = {one.steps_per_call}",
            f"by hand: {one.by_hand_is}",
            at_least(0.97),
        ),
        minutes=18,
    )


def adaptive() -> Measure:
    """K found by the trainer against the best fixed one."""
    columns = ("found", "best fixed")
    rates = dict.fromkeys((*columns, *map(_fixed_at, FIXED)), "steps/s")
    return Measure(
        _adaptive,
        SAMPLES,
        30,
        {**rates, "best K": "steps a call"},
        [
            Ratio(
                "steps/s, in-graph-async, K found by the trainer",
                _best_fixed,
                at_least(0.90),
                columns,
            )
        ],
    )


def tutorial(name: str) -> Measure:
    """Our default against a loop that makes one step a call, of a model of TUTORIALS."""
    program, words = TUTORIALS[name]
    document = params(steps_per_call=None, report=2.0)
    document["program"]["module"] = program
    loop = Program("in_graph_async.py", (name,), 1)
    return _rates(
        partial(
            in_turn,
            lambda: Ours(document),
            lambda: ByHand(loop),
            turns=1,
            settle=LONG_SETTLE,
            seconds=LONG_SECONDS,
        ),
        Ratio(
            f"steps/s, in-graph-async, our default, {words}",
            "by hand: the tutorial's loop, K = 1",
            at_least(2.5),
        ),
        minutes=16,
    )


def partitioned() -> Measure:
    """A dense variable of 100 MB that two ps share against one that has it whole."""
    document = dense()
    loop = Program("in_graph_async.py", ("dense",), 1, workers=1, ps=2)
    return _rates(
        partial(in_dense_turns, lambda: Ours(document), lambda: ByHand(loop)),
        Ratio(
            "steps/s, 1 worker, 2 ps, one dense variable of 100 MB, our default (partitioned)",
            "by hand, unpartitioned",
            at_least(1.3),
        ),
        minutes=16,
    )


def micro_batches() -> Measure:
    """Examples a second when a step takes four batches against one: variables are read once."""
    four, one = dense(microBatches=MICRO_BATCHES), dense()
    names = (f"microBatches {MICRO_BATCHES}", "microBatches 1")
    examples = [one["train"]["batchSize"] * batches for batches in (MICRO_BATCHES, 1)]

    def take(count: int) -> Iterator[Sample]:
        for steps in in_dense_turns(lambda: Ours(four), lambda: Ours(one), count, names=names):
            yield {name: steps[name] * of for name, of in zip(names, examples, strict=True)}

    return Measure(
        take,
        SAMPLES,
        16,
        dict.fromkeys(names, "examples/s"),
        [
            Ratio(
                f"examples/s, the same variable, train.microBatches {MICRO_BATCHES}",
                "train.microBatches 1",
                at_least(2.0),
                names,
            )
        ],
    )


def dense(**train: Any) -> dict[str, Any]:
    """Params of 1 worker, 2 ps and one dense variable of 100 MB."""
    optimizer = {"name": "SGD", "learningRate": 0.001}
    document = params(
        steps_per_call=1,
        report=REPORT,
        workers=1,
        ps=2,
        train={"batchSize": 4, "optimizer": optimizer, **train},
    )
    document["program"]["module"] = "programs:Dense"
    return document


def fixed(steps: int) -> Start:
    """Ours with so many steps a call. Leaps of 1000 steps are timed by closer reports."""
    document = params(steps_per_call=steps, report=REPORT if steps > 100 else 2.0)
    return lambda: Ours(document)


def found() -> Training:
    """Ours as it is by default."""
    return Ours(params(steps_per_call=None, report=2.0))


def in_turn(
    first: Start,
    second: Start,
    count: int,
    *,
    names: tuple[str, str] = NAMES,
    turns: int = TURNS,
    settle: float = SETTLE,
    seconds: float = SECONDS,
    measured: Callable[..., tuple[float, float]] = rates_in_turn,
) -> Iterator[Sample]:
    """What is `measured` of two trainings (steps a second); each sample starts both anew.

    Each is timed for a few turns of so many seconds while the other is held; which of the two goes
    first alternates.
    """
    for number in range(count):
        with ExitStack() as stack:
            one, two = one_pair(
                lambda: _started(stack, first), lambda: _started(stack, second), number
            )
            swapped = number % 2 == 1
            rates = measured(*((two, one) if swapped else (one, two)), turns, settle, seconds)
        yield dict(zip(names, reversed(rates) if swapped else rates, strict=True))


# A step sends and computes for a tenth of a second.
in_dense_turns = partial(in_turn, turns=2, settle=1.0, seconds=3.0)


def _rates(take: Callable[[int], Iterator[Sample]], row: Ratio, *, minutes: float) -> Measure:
    return Measure(take, SAMPLES, minutes, dict.fromkeys(NAMES, "steps/s"), [row])


def _adaptive(count: int) -> Iterator[Sample]:
    """The best fixed K is that of one start of each, beforehand."""
    rates = {steps: _alone(fixed(steps), _seconds(steps)) for steps in FIXED}
    best = max(rates, key=lambda steps: rates[steps])
    looked_at = {"best K": best, **{_fixed_at(steps): rate for steps, rate in rates.items()}}
    names, seconds = ("found", "best fixed"), _seconds(best)
    for sample in in_turn(
        found, fixed(best), count, names=names, turns=1, settle=LONG_SETTLE, seconds=seconds
    ):
        yield {**sample, **looked_at}


def _best_fixed(samples: Samples) -> str:
    each = ", ".join(f"{steps}: {samples[_fixed_at(steps)][0]:.0f}" for steps in FIXED)
    return f"the best fixed K, {samples['best K'][0]:.0f} (steps/s by K, one start each: {each})"


def _fixed_at(steps: int) -> str:
    return f"K = {steps}"


def _started(stack: ExitStack, start: Start) -> Training:
    """A training that is warm."""
    training = stack.enter_context(start())
    training.wait_for_all()
    time.sleep(WARM_UP)
    return training


def _seconds(steps_per_call: int) -> float:
    """Of a window: a call of 1000 steps may take seven, and some have to end in it."""
    return LONG_SECONDS if steps_per_call < 1000 else 3 * LONG_SECONDS


def _alone(start: Start, seconds: float) -> float:
    with ExitStack() as stack:
        training = _started(stack, start)
        return statistics.mean(
            window(training, settle=LONG_SETTLE, seconds=seconds) for _ in range(2)
        )


MEASURES = {
    **{f"rate-{name}": against_by_hand(name) for name in COMBINATIONS},
    "adaptive": adaptive(),
    **{f"tutorial-{name}": tutorial(name) for name in TUTORIALS},
    "partitioned": partitioned(),
    "micro-batches": micro_batches(),
}
