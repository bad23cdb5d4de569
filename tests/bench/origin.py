"""Of what code, when, with which versions and on what machine samples were made."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a series itself writes: not a change of what is measured.
WRITTEN = ("tests/bench/results.json", "docs/benchmarks.md", "docs/scale.md")
PACKAGES = {"TensorFlow": "tensorflow-cpu", "tf-keras": "tf-keras", "NumPy": "numpy"}
GIBIBYTE = 2**30


@dataclass(frozen=True)
class Tree:
    """The commit, whole; and whether any file differs from it."""

    commit: str
    changed: bool


@dataclass(frozen=True)
class Machine:
    """Cores that this process may use, and memory in GiB."""

    cores: int
    memory: float
    system: str


@dataclass(frozen=True)
class Origin:
    """`changed`: the files were not those of the commit, or did not stay so."""

    commit: str
    changed: bool
    day: str
    machine: Machine
    versions: Mapping[str, str]

    @property
    def place(self) -> str:
        """Machine and versions, in words."""
        here = self.machine
        names = [f"{name} {number}" for name, number in self.versions.items()]
        return ", ".join((f"{here.cores} cores", f"{here.memory} GiB", here.system, *names))


def tree() -> Tree:
    """Of this checkout now. Without git, or outside a clone, there is no commit."""
    try:
        commit = _git("rev-parse", "HEAD").strip()
        status = _git("status", "--porcelain", "--", ".", *(f":(exclude){f}" for f in WRITTEN))
    except (OSError, subprocess.CalledProcessError):
        return Tree("", changed=True)
    return Tree(commit, bool(status.strip()))


def origin(began: Tree, more_versions: Mapping[str, str]) -> Origin:
    """Of samples that are whole now and whose series began with that tree."""
    ended = tree()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Origin(
        began.commit,
        began.changed or ended != began,
        date.today().isoformat(),
        Machine(
            len(os.sched_getaffinity(0)),
            round(memory / GIBIBYTE, 1),
            f"{platform.system()} {platform.machine()}",
        ),
        {
            "Python": platform.python_version(),
            **{name: version(package) for name, package in PACKAGES.items()},
            **more_versions,
        },
    )


def _git(*arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
