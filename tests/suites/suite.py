"""One suite: commands run in order, their output, how long they took and what pytest counted."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "suites"


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
    """A name and the commands that make it; `junit` are the pytest reports they write."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    junit: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a suite ended. `note` is a line for the summary."""

    name: str
    ok: bool
    seconds: float
    counts: Counts
    note: str = ""


def pytest_suite(
    name: str,
    *arguments: str,
    full: bool,
    cluster: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Suite:
    """A suite that is one pytest call: the cases with or without the mark `cluster`.

    Without `full` the cases marked so are left out.
    """
    report = BUILD / f"{name}.xml"
    marks = ("cluster" if cluster else "not cluster", *(() if full else ("not full",)))
    command = (
        sys.executable,
        "-m",
        "pytest",
        *arguments,
        "-m",
        " and ".join(marks),
        f"--junitxml={report}",
        "--durations=5",
    )
    return Suite(name, (command,), environment or {}, (report,))


def run(suite: Suite, environment: Mapping[str, str]) -> Outcome:
    """Run every command of a suite, also after one failed, so that one run shows all findings."""
    print(f"\n=== {suite.name}", flush=True)
    for report in suite.junit:
        report.unlink(missing_ok=True)
    started = time.monotonic()
    ok = True
    for command in suite.commands:
        code = subprocess.run(
            command, cwd=ROOT, env={**environment, **suite.environment}, check=False
        ).returncode
        if code != 0:
            ok = False
            print(f"--- exit {code}: {' '.join(command)}", flush=True)
    counts = sum((_counts(report) for report in suite.junit), Counts())
    return Outcome(suite.name, ok, time.monotonic() - started, counts)


def _counts(report: Path) -> Counts:
    if not report.exists():
        return Counts()
    total = Counts()
    for element in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, skipped = int(element.get("tests", 0)), int(element.get("skipped", 0))
        failed = int(element.get("failures", 0)) + int(element.get("errors", 0))
        total += Counts(tests - failed - skipped, failed, skipped)
    return total
