"""Steps a second: ours against loops by hand, and our own choice of K against fixed ones."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tests.bench.hand_run import ByHand, Program
from tests.bench.ours_run import Ours, params
from tests.bench.pairs import Comparison, say_pair
from tests.bench.rows import Row, at_least, ratio_row
from tests.bench.training import Training, rates_in_turn, window

# Both trainings of a comparison run all the time, but one is held while the other is timed. After
# so many pairs both are started anew: two starts of one program differ by some per cent as well.
PAIRS_A_START = 3
# In the first seconds K is found, caches fill, and both programs compile: not the steady rate.
WARM_UP = 5.0
REPORT = 0.5  # four times as often as by default: a turn needs some points
# A pair is made of several short turns, so that a machine that is slow for some seconds is so for
# both. With all-reduce a worker that is held for more than 5 s may be taken for lost.
TURNS, SETTLE, SECONDS = 3, 0.4, 2.5
# Our own K is found anew after a hold, and its calls take half a second.
LONG_SETTLE, LONG_SECONDS = 3.0, 10.0
MICRO_BATCHES = 4
# Of the tutorial's loop, by the module of by_hand/: ours, and in words.
TUTORIALS = {
    "small": ("programs:Small", "two dense layers (256 units)"),
    "digits": ("programs:Digits", "the digits' convolutional net"),
}

Start = Callable[[], Training]


@dataclass(frozen=True)
class Combination:
    """Settings of ours, the program by hand that does the same, and the K of both."""

    settings: dict[str, Any]
    by_hand: Program
    steps_per_call: int
    by_hand_is: str


COMBINATIONS = {
    "in-graph-async": Combination(
        {},
        Program("in_graph_async.py", ("digits", "10")),
        10,
        "ParameterServerStrategy, ClusterCoordinator",
    ),
    "in-graph-sync": Combination(
        {"update": "sync"},
        Program("in_graph_sync.py", ("digits", "10")),
        10,
        "a tower a worker in one tf.function",
    ),
    "between-graph-async": Combination(
        {"replication": "between-graph"},
        Program("between_graph.py", ("digits", "async", "10"), chief=False, after_the_first=True),
        10,
        "MonitoredTrainingSession",
    ),
    "between-graph-sync": Combination(
        {"replication": "between-graph", "update": "sync"},
        Program("between_graph.py", ("digits", "sync"), chief=False, after_the_first=True),
        1,
        "SyncReplicasOptimizer",
    ),
    "all-reduce": Combination(
        {"strategy": "all-reduce"},
        Program("all_reduce.py", ("digits", "10"), ps=0, chief=False),
        10,
        "MultiWorkerMirroredStrategy",
    ),
}


def against_by_hand(name: str, pairs: int) -> list[Row]:
    """The same strategy, model, batch, optimizer and K."""
    one = COMBINATIONS[name]
    document = params(steps_per_call=one.steps_per_call, report=REPORT, **one.settings)
    compared = in_turn(
        lambda: Ours(document),
        lambda: ByHand(one.by_hand),
        pairs,
    )
    return [
        ratio_row(
            f"steps/s, {name}, K = {one.steps_per_call}",
            f"by hand: {one.by_hand_is}",
            at_least(0.97),
            compared,
            unit="steps/s",
        )
    ]


def adaptive(pairs: int) -> list[Row]:
    """K found by the trainer against the best fixed one."""
    rates = {steps: _alone(fixed(steps), _seconds(steps)) for steps in (1, 10, 100, 1000)}
    best = max(rates, key=lambda steps: rates[steps])
    compared = in_turn(
        found, fixed(best), pairs, turns=1, settle=LONG_SETTLE, seconds=_seconds(best)
    )
    others = ", ".join(f"{steps}: {rate:.0f}" for steps, rate in rates.items())
    return [
        ratio_row(
            "steps/s, in-graph-async, K found by the trainer",
            f"the best fixed K, {best} (steps/s by K, one start each: {others})",
            at_least(0.90),
            compared,
            unit="steps/s",
        )
    ]


def tutorial(name: str, pairs: int) -> list[Row]:
    """Our default against a loop that makes one step a call, of a model of TUTORIALS."""
    program, words = TUTORIALS[name]
    document = params(steps_per_call=None, report=2.0)
    document["program"]["module"] = program
    loop = Program("in_graph_async.py", (name, "1"))
    compared = in_turn(
        lambda: Ours(document),
        lambda: ByHand(loop),
        pairs,
        turns=1,
        settle=LONG_SETTLE,
        seconds=LONG_SECONDS,
    )
    return [
        ratio_row(
            f"steps/s, in-graph-async, our default, {words}",
            "by hand: the tutorial's loop, K = 1",
            at_least(2.5),
            compared,
            unit="steps/s",
        )
    ]


def partitioned(pairs: int) -> list[Row]:
    """A dense variable of 100 MB that two ps share against one that has it whole."""
    document = dense()
    loop = Program("in_graph_async.py", ("dense", "1"), workers=1, ps=2)
    compared = in_turn(
        lambda: Ours(document),
        lambda: ByHand(loop),
        pairs,
        turns=2,
        settle=1.0,
        seconds=3.0,
    )
    return [
        ratio_row(
            "steps/s, 1 worker, 2 ps, one dense variable of 100 MB, our default (partitioned)",
            "by hand, unpartitioned",
            at_least(1.3),
            compared,
            unit="steps/s",
        )
    ]


def micro_batches(pairs: int) -> list[Row]:
    """Examples a second when a step takes four batches against one: variables are read once."""
    four, one = dense(microBatches=MICRO_BATCHES), dense()
    steps = in_turn(lambda: Ours(four), lambda: Ours(one), pairs, turns=2, settle=1.0, seconds=3.0)
    batch = one["train"]["batchSize"]
    examples = Comparison(
        tuple(rate * batch * MICRO_BATCHES for rate in steps.first),
        tuple(rate * batch for rate in steps.second),
    )
    return [
        ratio_row(
            f"examples/s, the same variable, train.microBatches {MICRO_BATCHES}",
            "train.microBatches 1",
            at_least(2.0),
            examples,
            unit="examples/s",
        )
    ]


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
    pairs: int,
    *,
    turns: int = TURNS,
    settle: float = SETTLE,
    seconds: float = SECONDS,
) -> Comparison:
    """Pairs of steps a second of two trainings, each timed while the other is held."""
    found: list[tuple[float, float]] = []
    while len(found) < pairs:
        with ExitStack() as stack:
            one, two = (_started(stack, start) for start in (first, second))
            for number in range(len(found), min(len(found) + PAIRS_A_START, pairs)):
                swapped = number % 2 == 1
                order = (two, one) if swapped else (one, two)
                rates = rates_in_turn(*order, turns, settle, seconds)
                found.append((rates[1], rates[0]) if swapped else rates)
                say_pair(number, *found[-1], "steps/s")
    return Comparison(*zip(*found, strict=True))


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
        rates = [window(training, settle=LONG_SETTLE, seconds=seconds) for _ in range(2)]
    print(f"  {statistics.mean(rates):.4g} steps/s", file=sys.stderr, flush=True)
    return statistics.mean(rates)
