"""Run the suites: `python -m tests.suites [--full] SUITE…`.

Prints each suite's time and, at the end, one line of counts. Exit 0 when every suite passed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping

from tests.suites import cluster, lint
from tests.suites.suite import BUILD, ROOT, Counts, Outcome, Suite, pytest_suite, run

NAMES = ("lint", "generator", "chart", "trainer", "machine", "cluster")


def main() -> int:
    """Parse, run, summarize."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites")
    parser.add_argument("names", nargs="*", metavar="SUITE", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--full", action="store_true", help="with the long cases")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    outcomes = [
        _outcome(name, options.full, environment)
        for name in NAMES
        if name in (options.names or NAMES)
    ]
    return _summarize(outcomes, time.monotonic() - started)


def _outcome(name: str, full: bool, environment: Mapping[str, str]) -> Outcome:
    if name == "cluster":
        return _cluster(full, environment)
    helm = _helm()
    return run(_local_suite(name, helm, full), environment)


def _helm() -> str:
    """Path of the pinned helm, built once into the user's cache."""
    return subprocess.run(
        (*cluster.MACHINE, "tools", "helm"), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def _local_suite(name: str, helm: str, full: bool) -> Suite:
    if name == "lint":
        return lint.suite(helm)
    # Cases that need the cluster live beside what they test; the cluster suite runs them.
    folders = ("tests/cluster/machine", "tests/bench") if name == "machine" else (f"tests/{name}",)
    return pytest_suite(name, *folders, full=full)


def _cluster(full: bool, environment: Mapping[str, str]) -> Outcome:
    started = time.monotonic()
    place = cluster.place(environment)
    if place.reason:
        in_ci = environment.get("CI") == "true"
        print(f"\n=== cluster\n{'FAILED' if in_ci else 'skipped'}: {place.reason}", flush=True)
        return Outcome("cluster", not in_ci, 0.0, Counts(failed=int(in_ci)), place.reason)
    was_up = place.own and cluster.is_up()
    try:
        kubeconfig = cluster.up() if place.own else place.kubeconfig
        cluster.image()
        note = cluster.version(kubeconfig)
        prepared = time.monotonic() - started
        suite = pytest_suite(
            "cluster",
            "tests/cluster",
            "tests/chart",
            f"--kubeconfig={kubeconfig}",
            full=full,
            cluster=True,
            environment={"KUBECONFIG": kubeconfig},
        )
        ran = run(suite, environment)
    except subprocess.CalledProcessError as error:
        print(f"--- {error}", flush=True)
        return Outcome("cluster", False, time.monotonic() - started, Counts(failed=1), str(error))
    finally:
        if place.own and not was_up:
            cluster.down()
    note = f"{note}; {prepared:.0f} s to bring it up and load the image"
    return Outcome("cluster", ran.ok, time.monotonic() - started, ran.counts, note)


def _summarize(outcomes: list[Outcome], seconds: float) -> int:
    print(f"\n=== summary ({seconds:.0f} s)")
    for outcome in outcomes:
        word = "ok" if outcome.ok else "FAILED"
        counts = outcome.counts
        cases = f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
        print(f"{outcome.name:10} {word:6} {outcome.seconds:6.0f} s  {cases}  {outcome.note}")
    total = sum((outcome.counts for outcome in outcomes), Counts())
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
