"""Run the suites: `python -m tests.suites [--full] SUITE…`.

Prints each suite's time and, at the end, one line of counts. Exit 0 when every suite passed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tests.cluster.machine_tools import tool_path
from tests.suites import cluster, lint
from tests.suites.suite import BUILD, ROOT, Counts, Outcome, pytest_suite, run

# Their trainings wait for processes, pods and deadlines for a good part of their time.
TWO_FILES_AT_ONCE = ("--numprocesses=2", "--dist=loadfile")
# The cases of what the tests are run with.
OF_TOOLS = ("tests/cluster/machine", "tests/bench", "tests/suites")
NAMES = ("lint", "generator", "chart", "trainer", "machine", "cluster")


def main() -> int:
    """Parse, run, summarize."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites")
    parser.add_argument("names", nargs="*", metavar="SUITE", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--full", action="store_true", help="with the long cases")
    parser.add_argument("--outcome", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    names = [name for name in NAMES if name in (options.names or NAMES)]
    if options.outcome:
        outcome = _outcome(names[0], options.full, environment)
        options.outcome.write_text(json.dumps(asdict(outcome)))
        return 0 if outcome.ok else 1
    # The cluster suite waits most of its time, so it runs beside the others.
    aside = _Aside("cluster", options.full, environment) if names[-1:] == ["cluster"] else None
    outcomes = [_outcome(name, options.full, environment) for name in names if name != "cluster"]
    if aside:
        outcomes.append(aside.outcome())
    return _summarize(outcomes, time.monotonic() - started)


class _Aside:
    """A suite in a process of its own; what it prints is shown when it is waited for."""

    def __init__(self, name: str, full: bool, environment: Mapping[str, str]) -> None:
        self._name = name
        self._log = BUILD / f"{name}.log"
        self._file = BUILD / f"{name}.json"
        self._file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.suites", name, f"--outcome={self._file}"]
        print(f"=== {name} runs beside the others; its words are in {self._log}", flush=True)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, *(["--full"] if full else [])],
                cwd=ROOT,
                env=dict(environment),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def outcome(self) -> Outcome:
        """Wait for it, print what it printed."""
        code = self._process.wait()
        print(self._log.read_text(errors="replace"), flush=True)
        if not self._file.exists():
            return Outcome(self._name, False, 0.0, Counts(failed=1), f"ended with {code}")
        document = json.loads(self._file.read_text())
        return Outcome(**{**document, "counts": Counts(**document["counts"])})


def _outcome(name: str, full: bool, environment: Mapping[str, str]) -> Outcome:
    if name == "cluster":
        return _cluster(full, environment)
    if name == "lint":
        try:
            return run(lint.suite(tool_path("helm")), environment)
        except subprocess.CalledProcessError as error:
            print(f"--- {error}", flush=True)
            return Outcome(name, False, 0.0, Counts(failed=1), "helm can't be built here")
    # Cases that need the cluster live beside what they test; the cluster suite runs them.
    folders = OF_TOOLS if name == "machine" else (f"tests/{name}",)
    beside = TWO_FILES_AT_ONCE if name in ("generator", "trainer") else ()
    return run(pytest_suite(name, *folders, *beside, full=full), environment)


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
            *TWO_FILES_AT_ONCE,
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
