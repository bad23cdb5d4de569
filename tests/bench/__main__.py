"""`make bench`: measure, print the table, and with --write make docs/benchmarks.md of it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.bench import (
    measures,
    memory,
    rates,
    recovery,
    recovery_pods,
    reporting,
    results,
    servers,
    starts,
)
from tests.bench.install import install
from tests.bench.rows import Row
from tests.suites import cluster


def main() -> int:
    """Measure what was asked for, or everything this machine can."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Nothing else should run meanwhile. A name also stands for all that begin "
        "with it and a dash: `rate` for all five.",
    )
    parser.add_argument("names", nargs="*", metavar="MEASURE", help=f"of {', '.join(NAMES)}")
    parser.add_argument(
        "--pairs",
        type=int,
        default=9,
        help="pairs, or samples where nothing is compared; `cold` and `image` are made once",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="keep the rows in tests/bench/results.json and make docs/benchmarks.md anew",
    )
    options = parser.parse_args()
    # Ended by SIGTERM it must leave no training behind, least of all one that is held.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if options.pairs < 1:
        parser.error("--pairs: at least 1")
    names: list[str] = []
    for asked in options.names or NAMES:
        chosen = [name for name in NAMES if name == asked or name.startswith(f"{asked}-")]
        if not chosen:
            parser.error(f"no measure {asked}: choose from {', '.join(NAMES)}")
        names += [name for name in chosen if name not in names]
    made: dict[str, results.Measured] = {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        began = time.monotonic()
        rows = MEASURES[name](options.pairs)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if not rows:
            continue
        made[name] = results.made_here(rows)
        if options.write:  # after each: a series that is cut off keeps what it has
            kept = {**results.load(), name: made[name]}
            results.save(kept, NAMES)
            results.PAGE.write_text(results.page(kept, NAMES), encoding="utf-8")
    print(results.page(made, names))
    return 0


def _on_cluster(measure: Callable[[str, int], list[Row]], pairs: int) -> list[Row]:
    place = cluster.place(os.environ)
    if place.reason:
        print(f"left out, it needs a cluster: {place.reason}", file=sys.stderr)
        return []
    was_up = place.own and cluster.is_up()
    try:
        kubeconfig = cluster.up() if place.own else place.kubeconfig
        cluster.image()
        return measure(kubeconfig, pairs)
    finally:
        if place.own and not was_up:
            cluster.down()


# By name, in the order of the page. Each takes a number of pairs.
MEASURES: dict[str, Callable[[int], list[Row]]] = {
    "validate": measures.validate,
    "run": measures.run_warm,
    "cold": lambda _: measures.run_cold(),
    "image": lambda _: measures.image_size(),
    "install": partial(_on_cluster, install),
    **{f"rate-{name}": partial(rates.against_by_hand, name) for name in rates.COMBINATIONS},
    "adaptive": rates.adaptive,
    **{f"tutorial-{name}": partial(rates.tutorial, name) for name in rates.TUTORIALS},
    **{f"start-{name}": partial(starts.start, name) for name in rates.COMBINATIONS},
    "server": servers.server,
    "reporting": reporting.reporting,
    "partitioned": rates.partitioned,
    "micro-batches": rates.micro_batches,
    "recovery": recovery.recovery,
    "recovery-pods": partial(_on_cluster, recovery_pods.recovery),
    "memory": memory.against_by_hand,
    "memory-chief": memory.chief_over_time,
    "memory-ps": memory.ps_after_losses,
}
NAMES = tuple(MEASURES)


if __name__ == "__main__":
    sys.exit(main())
