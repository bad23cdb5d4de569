"""`make bench`: measure, print the table, and with --write make docs/benchmarks.md of it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable

from tests.bench.install import install
from tests.bench.measures import LOCAL, ROOT, Row, image_size
from tests.suites import cluster


def main() -> int:
    """Measure what was asked for, or everything this machine can."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    names = (*LOCAL, "image", "install")
    parser.add_argument("names", nargs="*", metavar="MEASURE", help=f"of {', '.join(names)}")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of the install measure")
    parser.add_argument("--write", action="store_true", help="make docs/benchmarks.md anew")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no measure {', '.join(sorted(unknown))}: choose from {', '.join(names)}")
    measures: dict[str, Callable[[], list[Row]]] = {**LOCAL, "image": image_size}
    measures["install"] = lambda: _on_cluster(options.pairs)
    rows: list[Row] = []
    for name in options.names or names:
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += measures[name]()
    page = _page(rows)
    print(page)
    if options.write:
        (ROOT / "docs" / "benchmarks.md").write_text(page, encoding="utf-8")
    return 0


def _on_cluster(pairs: int) -> list[Row]:
    place = cluster.place(os.environ)
    if place.reason:
        print(f"install is left out: {place.reason}", file=sys.stderr)
        return []
    was_up = place.own and cluster.is_up()
    try:
        kubeconfig = cluster.up() if place.own else place.kubeconfig
        cluster.image()
        return install(kubeconfig, pairs)
    finally:
        if place.own and not was_up:
            cluster.down()


def _page(rows: list[Row]) -> str:
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench` (`python -m tests.bench --write`) on {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}.",
        "A ratio is the median of interleaved pairs with its bootstrap 95 % interval; one wider "
        "than 5 % says so and is not a measurement.",
        "",
        "| measure | measured | against | bar |",
        "|---|---|---|---|",
    ]
    lines += [f"| {row.what} | {row.value} | {row.against} | {row.bar} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
