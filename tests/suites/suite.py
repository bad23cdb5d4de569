"""One suite: commands run in order, their output, how long they took and what pytest counted."""

from __future__ import annotations

import os
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.suites.again import read
from tests.suites.commands import TIMED_OUT, run_command

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "suites"
SHOWN = 30
# Trainings wait for processes, pods and deadlines for a good part of their time.
TWO_FILES_AT_ONCE = ("--numprocesses=2", "--dist=loadfile")
REASON_LETTERS = 500
# Why a case may be skipped in CI, too: the rights of whoever runs it, and a cluster that was given.
LISTED_SKIPS = (
    *(("needs root", "only root can") if os.geteuid() != 0 else ()),
    "this machine lets nobody mount a volume",
    "KUBECONFIG names another cluster",
)


@dataclass(frozen=True)
class Counts:
    """What pytest counted."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )


@dataclass(frozen=True)
class Suite:
    """A name and the commands that make it; `junit` are the pytest reports they write.

    `seconds` is what all of them may take; `again` is the file of tests.suites.again.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)
    junit: tuple[Path, ...] = ()
    again: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a suite ended. `note` is a line for the summary.

    `again` are the cases that the next run has in any case; `mended` failed last time, not now;
    `reasons` say of each failed case what its error said first; `files` have the seconds of the
    cases of each module.
    """

    name: str
    ok: bool
    seconds: float
    counts: Counts
    note: str = ""
    again: Sequence[str] = ()
    mended: Sequence[str] = ()
    reasons: Sequence[str] = ()
    files: Mapping[str, float] = field(default_factory=dict)


def pytest_suite(
    name: str,
    *arguments: str,
    seconds: float,
    full: bool,
    cluster: bool = False,
    passed: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Suite:
    """A suite that is one pytest call: the cases with or without the mark `cluster`.

    Without `full` the cases marked so are left out, but for those that failed last time. `passed`
    is the file of tests.suites.resume: the cases that it names are left out, too.
    """
    report, failed = BUILD / f"{name}.xml", BUILD / f"{name}.failed"
    marks = ("cluster" if cluster else "not cluster", *(() if full else ("(again or not full)",)))
    command = (
        sys.executable,
        "-m",
        "pytest",
        *arguments,
        "-p",
        "tests.suites.again",
        f"--again={failed}",
        *(("-p", "tests.suites.resume", f"--passed={passed}") if passed else ()),
        "-m",
        " and ".join(marks),
        f"--junitxml={report}",
        "--durations=5",
    )
    return Suite(name, (command,), seconds, environment or {}, (report,), failed)


def run(suite: Suite, environment: Mapping[str, str]) -> Outcome:
    """Run every command of a suite, also after one failed, so that one run shows all findings."""
    print(f"\n=== {suite.name}", flush=True)
    for report in suite.junit:
        report.unlink(missing_ok=True)
    last_time = read(suite.again) if suite.again else []
    if last_time:
        print(f"--- failed last time: {some(last_time)}", flush=True)
    started = time.monotonic()
    ok, note = True, ""
    for command in suite.commands:
        left = started + suite.seconds - time.monotonic()
        code = run_command(command, ROOT, {**environment, **suite.environment}, left)
        if code != 0:
            ok = False
            print(f"--- exit {code}: {' '.join(command)}", flush=True)
        if code == TIMED_OUT:
            note = f"ended after its {suite.seconds:.0f} s"
            print(f"--- {note}", flush=True)
            break
    if long_cases := _chosen(suite.junit):
        print(f"--- of the slice ({len(long_cases)}): {' '.join(long_cases)}", flush=True)
    unexpected = [] if not in_ci(environment) else _unlisted(suite.junit)
    for reason in unexpected:
        ok = False
        print(f"--- skipped, which CI does not let pass: {reason}", flush=True)
    counts = sum((_counts(report) for report in suite.junit), Counts())
    again = read(suite.again) if suite.again else []
    mended = [case for case in last_time if case not in again]
    seconds, reasons = time.monotonic() - started, _reasons(suite.junit)
    files = _seconds_of_files(suite.junit)
    return Outcome(suite.name, ok, seconds, counts, note, again, mended, reasons, files)


def some(cases: Sequence[str]) -> str:
    """How many they are, and the first of them, a line each."""
    more = [f"and {len(cases) - SHOWN} more"] if len(cases) > SHOWN else []
    return "\n    ".join((str(len(cases)), *cases[:SHOWN], *more))


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether CI says that it is there, in any of the ways in which it is said."""
    return environment.get("CI", "").lower() not in ("", "0", "false", "no", "off")


def _unlisted(reports: Sequence[Path]) -> list[str]:
    """Why cases were skipped, less the reasons that a machine may have."""
    reasons = {
        element.get("message", "") for case in _cases(reports) for element in case.iter("skipped")
    }
    return sorted(reason for reason in reasons if not any(map(reason.startswith, LISTED_SKIPS)))


def _reasons(reports: Sequence[Path]) -> list[str]:
    """Of each failed case its name, and the first letters of what its error said."""
    return [
        f"{case.get('classname', '')} {case.get('name', '')}: {_first_letters(why)}"
        for case in _cases(reports)
        for why in case
        if why.tag in ("failure", "error")
    ]


def _seconds_of_files(reports: Sequence[Path]) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for case in _cases(reports):
        found[case.get("classname", "")] += float(case.get("time", 0))
    return dict(found)


def _cases(reports: Sequence[Path]) -> Iterator[ElementTree.Element]:
    for report in reports:
        if report.exists():
            yield from ElementTree.parse(report).getroot().iter("testcase")


def _first_letters(why: ElementTree.Element) -> str:
    words = " ".join((why.get("message") or why.text or "").split())
    return words if len(words) <= REASON_LETTERS else f"{words[:REASON_LETTERS]}…"


def _chosen(reports: Sequence[Path]) -> list[str]:
    """The long cases whose turn it was."""
    return [
        case.get("name", "")
        for case in _cases(reports)
        if case.find("./properties/property[@name='slice']") is not None
    ]


def _counts(report: Path) -> Counts:
    if not report.exists():
        return Counts()
    total = Counts()
    for element in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, skipped = int(element.get("tests", 0)), int(element.get("skipped", 0))
        failed = int(element.get("failures", 0)) + int(element.get("errors", 0))
        total += Counts(tests - failed - skipped, failed, skipped)
    return total
