"""What `make bench` measures that needs no cluster. Each returns rows for the table."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.pairs import Comparison, compare

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "values-examples/digits.params.yaml"


@dataclass(frozen=True)
class Row:
    """One line of the table: what, how much, against what, and how sure."""

    what: str
    value: str
    against: str
    bar: str


def ratio_row(what: str, against: str, bar: str, compared: Comparison) -> Row:
    """A paired ratio with its interval, and whether it counts as a measurement."""
    low, high = compared.interval
    first, second = statistics.median(compared.first), statistics.median(compared.second)
    sure = "" if compared.is_measurement else "; too wide to be a measurement"
    value = (
        f"{compared.ratio:.2f} × (95 % {low:.2f}–{high:.2f}, {len(compared.first)} pairs{sure}); "
        f"{first:.2f} s against {second:.2f} s"
    )
    return Row(what, value, against, bar)


def validate() -> list[Row]:
    """A cold `tf-cluster validate` against an empty Python process."""
    tool = str(Path(sys.executable).parent / "tf-cluster")
    compared = compare(
        lambda: seconds((tool, "validate", EXAMPLE)),
        lambda: seconds((sys.executable, "-c", "pass")),
        pairs=15,
    )
    return [
        Row(
            "`tf-cluster validate`, cold process",
            f"{statistics.median(compared.first):.3f} s",
            "",
            "< 0.35 s",
        ),
        ratio_row("the same", "an empty Python process", "", compared),
    ]


def run_warm() -> list[Row]:
    """`make run` with everything installed, each time a new run directory."""
    samples = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as runs:
            tool = str(Path(sys.executable).parent / "tf-cluster")
            samples.append(seconds((tool, "run", EXAMPLE, "--runs", runs)))
    return [
        Row("`make run`, warm", f"{statistics.median(samples):.1f} s (median of 3)", "", "< 60 s")
    ]


def run_cold() -> list[Row]:
    """`make run` in a fresh clone with an empty pip cache."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(("git", "clone", "--quiet", str(ROOT), str(clone)), check=True)
        environment = {**os.environ, "PIP_CACHE_DIR": str(Path(folder) / "pip")}
        taken = seconds(("make", "run"), cwd=clone, environment=environment)
    return [Row("`make run`, cold (fresh clone, empty pip cache)", f"{taken:.0f} s", "", "< 240 s")]


def image_size() -> list[Row]:
    """Unpacked size of the trainer image, as the machine's image command reports it."""
    command = (sys.executable, "-m", "tests.cluster.machine", "image")
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    size = re.search(r"([0-9.]+ [MG]B) unpacked", done.stderr)
    if size is None:
        raise RuntimeError(f"the image command does not say how large it is: {done.stderr}")
    return [Row("trainer image (CPU), unpacked", size[1], "", "< 1.7 GB")]


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


LOCAL: dict[str, Callable[[], list[Row]]] = {
    "validate": validate,
    "run": run_warm,
    "cold": run_cold,
}
