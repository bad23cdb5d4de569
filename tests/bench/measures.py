"""The tool and the image: how long a person waits, how much is downloaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.compiled import compiled_environment
from tests.bench.measure import Measure, Sample
from tests.bench.origin import ROOT
from tests.bench.pairs import in_pairs
from tests.bench.rows import Bar, Figure, Ratio

TOOL = str(Path(sys.executable).parent / "tf-cluster")
EXAMPLE = "values-examples/digits.params.yaml"
VALIDATED = ("validate", "empty process")


def _validate(count: int) -> Iterator[Sample]:
    """A cold `tf-cluster validate` against an empty Python process."""
    environment = compiled_environment()
    seconds((TOOL, "validate", EXAMPLE), environment=environment)  # writes what Python compiled
    return in_pairs(
        lambda: seconds((TOOL, "validate", EXAMPLE), environment=environment),
        lambda: seconds((sys.executable, "-c", "pass")),
        count,
        VALIDATED,
    )


def _run_warm(count: int) -> Iterator[Sample]:
    """`make run` with everything installed, each time a new run directory."""
    for _ in range(count):
        with tempfile.TemporaryDirectory() as runs:
            yield {"make run": seconds((TOOL, "run", EXAMPLE, "--runs", runs))}


def _run_cold(count: int) -> Iterator[Sample]:
    """`make run` in a fresh clone with an empty pip cache."""
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "clone"
            subprocess.run(("git", "clone", "--quiet", str(ROOT), str(clone)), check=True)
            environment = {**os.environ, "PIP_CACHE_DIR": str(Path(folder) / "pip")}
            yield {"make run": seconds(("make", "run"), cwd=clone, environment=environment)}


def _image_size(count: int) -> Iterator[Sample]:
    """Unpacked size of the trainer image, as the machine's image command reports it."""
    for _ in range(count):
        command = (sys.executable, "-m", "tools.machine", "image", "--load", "none")
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        size = re.search(r"([0-9.]+) GB unpacked", done.stderr)
        if size is None:
            raise RuntimeError(f"the image command does not say how large it is: {done.stderr}")
        yield {"size": float(size[1])}


def seconds(
    command: Sequence[str],
    cwd: Path = ROOT,
    environment: dict[str, str] | None = None,
) -> float:
    """Wall seconds of a whole process. Raises CalledProcessError unless it exits 0."""
    started = time.monotonic()
    subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.monotonic() - started


MEASURES = {
    "validate": Measure(
        _validate,
        31,
        1,
        dict.fromkeys(VALIDATED, "s"),
        [
            Figure("`tf-cluster validate`, cold process", Bar("< 0.35 s", 0.35), ("validate",)),
            Ratio("the same", "an empty Python process", columns=VALIDATED),
        ],
    ),
    "run": Measure(
        _run_warm,
        9,
        3,
        {"make run": "s"},
        [Figure("`make run`, warm", Bar("< 60 s", 60.0), ("make run",))],
    ),
    "cold": Measure(
        _run_cold,
        6,
        8,
        {"make run": "s"},
        [
            Figure(
                "`make run`, cold (fresh clone, empty pip cache)",
                Bar("< 240 s", 240.0),
                ("make run",),
            )
        ],
    ),
    "image": Measure(
        _image_size,
        1,
        5,
        {"size": "GB"},
        [Figure("trainer image (CPU), unpacked", Bar("< 1.7 GB", 1.7), ("size",), counted=True)],
    ),
}
