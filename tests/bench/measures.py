"""The tool and the image: how long a person waits, how much is downloaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.pairs import compare
from tests.bench.rows import MET, MISSED, Bar, Row, figure_row, ratio_row

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "values-examples/digits.params.yaml"


def validate(pairs: int) -> list[Row]:
    """A cold `tf-cluster validate` against an empty Python process."""
    tool = str(Path(sys.executable).parent / "tf-cluster")
    compared = compare(
        lambda: seconds((tool, "validate", EXAMPLE)),
        lambda: seconds((sys.executable, "-c", "pass")),
        pairs,
    )
    return [
        figure_row(
            "`tf-cluster validate`, cold process", Bar("< 0.35 s", 0.35), compared.first, "s"
        ),
        ratio_row("the same", "an empty Python process", None, compared),
    ]


def run_warm(times: int) -> list[Row]:
    """`make run` with everything installed, each time a new run directory."""
    samples = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as runs:
            tool = str(Path(sys.executable).parent / "tf-cluster")
            samples.append(seconds((tool, "run", EXAMPLE, "--runs", runs)))
    return [figure_row("`make run`, warm", Bar("< 60 s", 60.0), samples, "s")]


def run_cold() -> list[Row]:
    """`make run` in a fresh clone with an empty pip cache."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(("git", "clone", "--quiet", str(ROOT), str(clone)), check=True)
        environment = {**os.environ, "PIP_CACHE_DIR": str(Path(folder) / "pip")}
        taken = seconds(("make", "run"), cwd=clone, environment=environment)
    verdict = MET if taken < 240 else MISSED
    what = "`make run`, cold (fresh clone, empty pip cache)"
    return [Row(what, f"{taken:.0f} s, one run", "", "< 240 s", verdict)]


def image_size() -> list[Row]:
    """Unpacked size of the trainer image, as the machine's image command reports it."""
    command = (sys.executable, "-m", "tests.cluster.machine", "image")
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    size = re.search(r"([0-9.]+ [MG]B) unpacked", done.stderr)
    if size is None:
        raise RuntimeError(f"the image command does not say how large it is: {done.stderr}")
    number, unit = size[1].split()
    verdict = MET if unit == "MB" or float(number) < 1.7 else MISSED
    return [Row("trainer image (CPU), unpacked", size[1], "", "< 1.7 GB", verdict)]


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
