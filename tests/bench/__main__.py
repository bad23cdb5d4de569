"""`make bench`: measure, print the table, and with --write make docs/benchmarks.md of it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.bench import results
from tests.bench.catalog import MEASURES
from tests.bench.measure import Measure
from tests.bench.origin import Tree, origin, tree
from tests.cluster.machine_tools import tool_path
from tests.suites import cluster


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, or everything this machine can. 1 when a measure failed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    # Ended by SIGTERM it must leave no training behind, least of all one that is held.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = tree()
    if options.page:
        results.PAGE.write_text(results.page(results.load(), MEASURES), encoding="utf-8")
        return 0
    if options.samples is not None and options.samples < 1:
        parser.error("--samples: at least 1")
    if options.samples is not None and options.write:
        parser.error("--samples: what is kept has the number of samples that was fixed beforehand")
    if options.write and not began.commit:
        parser.error("--write: there is no commit that made this; run it in a clone, with git")
    names: list[str] = []
    for asked in options.names or MEASURES:
        meant = chosen(asked)
        if not meant:
            parser.error(f"no measure {asked}: choose from {', '.join(MEASURES)}")
        names += [name for name in meant if name not in names]
    made: dict[str, results.Kept] = {}
    failed = []
    for name in names:
        measure = MEASURES[name]
        count = options.samples or measure.samples
        print(f"{name}, {count} samples …", file=sys.stderr, flush=True)
        since = time.monotonic()
        try:
            record = _record(measure, count, began)
        except Exception:  # the others are measured all the same
            traceback.print_exc()
            failed.append(name)
            continue
        print(f"{name}: {time.monotonic() - since:.0f} s", file=sys.stderr, flush=True)
        if record is None:
            continue
        made[name] = record
        if options.write:  # after each: a series that is cut off keeps what it has
            kept = {**results.load(), name: record}
            results.save(kept, tuple(MEASURES))
            results.PAGE.write_text(results.page(kept, MEASURES), encoding="utf-8")
    print(results.page(made, {name: MEASURES[name] for name in made}))
    if failed:
        print(f"failed, and left as it was: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def chosen(asked: str) -> list[str]:
    """The measure of this name; where there is none, all that begin with it and a dash."""
    if asked in MEASURES:
        return [asked]
    return [name for name in MEASURES if name.startswith(f"{asked}-")]


def _parser() -> argparse.ArgumentParser:
    table = "\n".join(
        f"  {name:<26} {one.samples:>2} samples, about {one.minutes:g} min"
        f"{', on a cluster' if one.on_cluster else ''}"
        for name, one in MEASURES.items()
    )
    hours = round(sum(one.minutes for one in MEASURES.values()) / 60)
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Nothing else should run meanwhile. What is no measure's name stands for all "
        "that begin with it and a dash: `rate` for all five.",
        epilog=f"measures, and how long they take on two cores ({hours} hours in all):\n{table}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="MEASURE", help="default: all")
    parser.add_argument(
        "--samples", type=int, help="other than each measure's own number: a look, never kept"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="keep the samples in tests/bench/results.json and make docs/benchmarks.md anew",
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="measure nothing; make docs/benchmarks.md of the samples that are kept",
    )
    return parser


def _record(measure: Measure, count: int, began: Tree) -> results.Record | None:
    """All its samples; None where it needs a cluster and there can be none."""
    if not measure.on_cluster:
        samples = measure.samples_of(measure.take(count))
        return results.Record(origin(began, {}), measure.units, samples)
    place = cluster.place(os.environ)
    if place.reason:
        print(f"left out, it needs a cluster: {place.reason}", file=sys.stderr)
        return None
    with _cluster(place) as kubeconfig:
        samples = measure.samples_of(measure.take(count, kubeconfig))
        return results.Record(origin(began, _versions(kubeconfig)), measure.units, samples)


@contextmanager
def _cluster(place: cluster.Place) -> Iterator[str]:
    """The kubeconfig of one that has the image; one that is made here is ended again."""
    was_up = place.own and cluster.is_up()
    try:
        kubeconfig = cluster.up() if place.own else place.kubeconfig
        cluster.image()
        yield kubeconfig
    finally:
        if place.own and not was_up:
            cluster.down()


def _versions(kubeconfig: str) -> Mapping[str, str]:
    name, _, number = cluster.version(kubeconfig).partition(" ")
    helm = (tool_path("helm"), "version", "--template={{.Version}}")
    done = subprocess.run(helm, check=True, capture_output=True, text=True)
    return {name: number, "Helm": done.stdout.strip()}


if __name__ == "__main__":
    sys.exit(main())
