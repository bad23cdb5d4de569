"""Run the suites: `python -m tests.suites [--full] SUITE…`.

Prints each suite's time and, at the end, one line of counts. Exit 0 when every suite passed.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from tf_cluster_trainer.supervisor.process.die_with_parent import signal_on_parent_death

from tests.cluster.machine_tools import tool_path
from tests.slices import chosen
from tests.suites import cluster, last_full, lint, resume
from tests.suites.again import read
from tests.suites.commands import end, leave, weighed
from tests.suites.last_full import Tree
from tests.suites.suite import (
    BUILD,
    ROOT,
    TWO_FILES_AT_ONCE,
    Counts,
    Outcome,
    in_ci,
    pytest_suite,
    run,
    some,
)

# The cases without the mark `cluster`; those with it live beside what they test.
FOLDERS = {
    "generator": ("tests/generator",),
    "chart": ("tests/chart",),
    "trainer": ("tests/trainer",),
    "serving": ("tests/serving",),
    "machine": ("tests/machine", "tests/bench", "tests/suites"),
}
CLUSTER_FOLDERS = ("tests/cluster", "tests/chart", "tests/machine")
# Compiled once: thousands of commands import them, and where PYTHONDONTWRITEBYTECODE is set each
# would do it anew, for a quarter of what `tf-cluster validate` takes.
SOURCES = ("generator/src", "trainer/src", "trainer/cleanup", "tools", "tests")
# Cases that disturb all others on the cluster: they come after those.
ALONE = "tests/cluster/alone"
# Seconds, each at least twice what two busy cores take: one suite that hangs is told, with all that
# it printed, before the 90 minutes of CI are over. The cluster's hold its tools and its image, too.
LIMITS = {
    "lint": 600,
    "generator": 2700,
    "chart": 2400,
    "trainer": 3300,
    "serving": 900,
    "machine": 900,
    "cluster": 5100,
}
LONGEST = 25
FULL = 4  # times as long with the long cases
NAMES = tuple(LIMITS)


def main() -> int:
    """Parse, run, summarize."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites")
    parser.add_argument("names", nargs="*", metavar="SUITE", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--full", action="store_true", help="with the long cases")
    parser.add_argument(
        "--anew", action="store_true", help="with --full: also what has passed on this commit"
    )
    parser.add_argument("--outcome", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, leave)
    # What a script starts in the background ignores it, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    # Helm ends before its garbage would matter: a sixth of its time went into collecting it.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "GOGC": "400"}
    names = [name for name in NAMES if name in (options.names or NAMES)]
    if options.outcome:
        signal_on_parent_death(signal.SIGTERM, os.getppid())
        outcome = _outcome(names[0], options.full, Tree.of(), environment)
        options.outcome.write_text(json.dumps(asdict(outcome)))
        return 0 if outcome.ok else 1
    tested = Tree.of()
    print("all of the long cases" if options.full else chosen(), flush=True)
    if options.full and tested.lacks:
        print(f"this run will not be noted as the last full one: {tested.lacks}", flush=True)
    if options.full:
        _goes_on(tested, anew=options.anew)
    for source in SOURCES:
        compileall.compile_dir(ROOT / source, quiet=1, workers=0)
    # The cluster suite waits most of its time, so it runs beside the others.
    aside = _Aside("cluster", options.full, environment) if names[-1:] == ["cluster"] else None
    outcomes = []
    try:
        for name in names:
            if name != "cluster":
                outcomes.append(_outcome(name, options.full, tested, environment))
                if aside:
                    aside.show()
        if aside:
            outcomes.append(aside.outcome())
    finally:
        if aside:
            aside.end()
    code = _summarize(outcomes, time.monotonic() - started)
    if options.full and is_whole(outcomes):
        retried = resume.failed_once(resume.folder_of(tested.commit, BUILD))
        print(last_full.note(tested, _total(outcomes), retried), flush=True)
        resume.forget(tested.commit, BUILD)
    print(last_full.told(), flush=True)
    return code


def _goes_on(tested: Tree, *, anew: bool) -> None:
    """Say what an earlier full run on this commit leaves to this one."""
    if tested.lacks:
        return
    if anew:
        resume.forget(tested.commit, BUILD)
    if count := resume.count(resume.folder_of(tested.commit, BUILD)):
        said = f"{count} cases have passed on this commit already and are left out"
        print(f"{said}; --anew: they are not", flush=True)


class _Aside:
    """A suite in a process of its own; what it prints is shown when the others say nothing."""

    def __init__(self, name: str, full: bool, environment: Mapping[str, str]) -> None:
        self._name = name
        self._log = BUILD / f"{name}.log"
        self._shown = 0
        self._file = BUILD / f"{name}.json"
        self._file.unlink(missing_ok=True)
        self._seconds = _limit(name, full)
        self._started = time.monotonic()
        command = [sys.executable, "-m", "tests.suites", name, f"--outcome={self._file}"]
        print(f"=== {name} runs beside the others; its words are in {self._log}", flush=True)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, *(["--full"] if full else [])],
                cwd=ROOT,
                env=dict(environment),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def show(self) -> None:
        """Print what it has printed since the last time."""
        with self._log.open(errors="replace") as log:
            log.seek(self._shown)
            words = log.read()
            self._shown = log.tell()
        if words:
            print(f"\n=== {self._name}, beside\n{words}", flush=True)

    def outcome(self) -> Outcome:
        """Wait for it to its limit, print what it printed."""
        note = ""
        try:
            code = self._process.wait(max(self._started + self._seconds - time.monotonic(), 0))
            note = f"ended with {code}"
        except subprocess.TimeoutExpired:
            note = f"ended after its {self._seconds:.0f} s"
        self.end()
        self.show()
        if not self._file.exists():
            return Outcome(self._name, False, 0.0, Counts(failed=1), note)
        document = json.loads(self._file.read_text())
        return Outcome(**{**document, "counts": Counts(**document["counts"])})

    def end(self) -> None:
        """End it, if it still runs: it ends its pytest, and the cluster that it brought up."""
        if self._process.poll() is None:
            end(self._process, signal.SIGTERM, seconds=300)


def _limit(name: str, full: bool) -> float:
    return LIMITS[name] * (FULL if full else 1)


def _outcome(name: str, full: bool, tested: Tree, environment: Mapping[str, str]) -> Outcome:
    """One suite's. In a full run, what has passed on the commit before counts and is left out."""
    passed = None
    if full and not tested.lacks:
        passed = resume.folder_of(tested.commit, BUILD) / f"{name}.passed"
    ran = _run(name, full, passed, environment)
    if passed:
        return replace(ran, counts=replace(ran.counts, passed=len(set(read(passed)))))
    return ran


def _run(name: str, full: bool, passed: Path | None, environment: Mapping[str, str]) -> Outcome:
    seconds = _limit(name, full)
    if name == "cluster":
        return _cluster(full, passed, environment, seconds)
    if name == "lint":
        try:
            return run(lint.suite(tool_path("helm"), seconds), environment)
        except subprocess.CalledProcessError as error:
            print(f"--- {error}", flush=True)
            return Outcome(name, False, 0.0, Counts(failed=1), "helm can't be built here")
    cases = (*FOLDERS[name], *TWO_FILES_AT_ONCE)
    suite = pytest_suite(name, *cases, seconds=seconds, full=full, passed=passed)
    return run(suite, environment)


def _cluster(
    full: bool, passed: Path | None, environment: Mapping[str, str], seconds: float
) -> Outcome:
    started = time.monotonic()
    place = cluster.place(environment)
    if place.reason:
        bad = in_ci(environment)
        print(f"\n=== cluster\n{'FAILED' if bad else 'skipped'}: {place.reason}", flush=True)
        return Outcome("cluster", not bad, 0.0, Counts(failed=int(bad)), place.reason)
    was_up = place.own and cluster.is_up()
    builds: list[cluster.Build] = []
    tools: cluster.Build | None = None
    try:
        kubeconfig = place.kubeconfig
        # The others need the processors all the time, and the cluster's cases for a part of theirs:
        # the sooner it is there, the sooner all ends.
        with weighed(cluster.URGENT) if place.own else nullcontext():
            if place.own:
                # While Kubernetes is built and begins.
                builds.append(image := cluster.image_build(BUILD / "image.log"))
                kubeconfig = cluster.up()
                builds.append(tools := cluster.tools_build(BUILD / "tools.log", full=full))
                cluster.apis()
                cluster.browser()
                image.finish()
            cluster.image()
        note = cluster.version(kubeconfig)
        prepared = time.monotonic() - started
        ran = Outcome("cluster", True, 0.0, Counts())
        for name, arguments in _parts(tools):
            suite = pytest_suite(
                name,
                *arguments,
                f"--kubeconfig={kubeconfig}",
                seconds=started + seconds - time.monotonic(),
                full=full,
                cluster=True,
                passed=passed,
                environment={"KUBECONFIG": kubeconfig},
            )
            ran = _both(ran, run(suite, environment))
    except subprocess.CalledProcessError as error:
        print(f"--- {error}", flush=True)
        return Outcome("cluster", False, time.monotonic() - started, Counts(failed=1), str(error))
    finally:
        for build in builds:
            build.end()
        if place.own and not was_up:
            cluster.down()
    note = "; ".join(filter(None, (ran.note, note)))
    note = f"{note}; {prepared:.0f} s to bring it up and load the image"
    return replace(ran, seconds=time.monotonic() - started, note=note)


def _parts(tools: cluster.Build | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The suite's pytest calls: name and arguments. Raises CalledProcessError.

    What needs large programs comes later where they are still being built.
    """
    most = (*CLUSTER_FOLDERS, f"--ignore={ALONE}", *TWO_FILES_AT_ONCE)
    need = cluster.NEED_LARGE_TOOLS
    if tools and not tools.is_through():
        yield "cluster", (*most, *(f"--ignore={path}" for path in need))
        tools.finish()
        yield "cluster-large-tools", (*need, *TWO_FILES_AT_ONCE)
    else:
        if tools:
            tools.finish()
        yield "cluster", most
    yield "cluster-alone", (ALONE, "--may-be-none")  # of four turns two have none


def _both(first: Outcome, second: Outcome) -> Outcome:
    return Outcome(
        first.name,
        first.ok and second.ok,
        first.seconds + second.seconds,
        first.counts + second.counts,
        "; ".join(filter(None, (first.note, second.note))),
        [*first.again, *second.again],
        [*first.mended, *second.mended],
        [*first.reasons, *second.reasons],
        {**first.files, **second.files},
    )


def is_whole(outcomes: Sequence[Outcome]) -> bool:
    """Whether every suite has run, and passed."""
    ran = [one.name for one in outcomes if one.counts.passed or one.name == "lint"]
    return ran == [*NAMES] and all(outcome.ok for outcome in outcomes)


def _total(outcomes: Sequence[Outcome]) -> Counts:
    return sum((outcome.counts for outcome in outcomes), Counts())


def _summarize(outcomes: list[Outcome], seconds: float) -> int:
    print(f"\n=== summary ({seconds:.0f} s)")
    for outcome in outcomes:
        word = "ok" if outcome.ok else "FAILED"
        counts = outcome.counts
        cases = f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
        print(f"{outcome.name:10} {word:6} {outcome.seconds:6.0f} s  {cases}  {outcome.note}")
    files = [(took, name) for outcome in outcomes for name, took in outcome.files.items()]
    longest = ", ".join(f"{name} {took:.0f} s" for took, name in sorted(files)[: -LONGEST - 1 : -1])
    print(f"longest files: {longest}")
    if mended := [case for outcome in outcomes for case in outcome.mended]:
        print(f"failed last time, not now: {some(mended)}")
    if again := [case for outcome in outcomes for case in outcome.again]:
        print(f"in the next run, whatever its slice: {some(again)}")
    if reasons := [reason for outcome in outcomes for reason in outcome.reasons]:
        print(f"why: {some(reasons)}")
    total = _total(outcomes)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU, pods' aside", flush=True)
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
