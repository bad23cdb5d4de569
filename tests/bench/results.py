"""What was measured last, measure by measure, and the page made of it.

results.json holds the rows, so that measuring one thing anew leaves the others as they were.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from tests.bench.rows import Row

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Measured:
    """The rows of one measure, where and when they were made."""

    rows: tuple[Row, ...]
    machine: str
    day: str


def made_here(rows: Sequence[Row]) -> Measured:
    """Rows of this machine, of today."""
    machine = (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )
    return Measured(tuple(rows), machine, date.today().isoformat())


def load(file: Path = RESULTS) -> dict[str, Measured]:
    """By the measure's name."""
    return {
        name: Measured(tuple(Row(**row) for row in one["rows"]), one["machine"], one["day"])
        for name, one in json.loads(file.read_text(encoding="utf-8")).items()
    }


def save(measured: Mapping[str, Measured], names: Sequence[str], file: Path = RESULTS) -> None:
    """In the order of `names`; what is not among them is no measure any more."""
    document = {name: asdict(measured[name]) for name in names if name in measured}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    file.write_text(text, encoding="utf-8")


def page(measured: Mapping[str, Measured], names: Sequence[str]) -> str:
    """docs/benchmarks.md."""
    chosen = [measured[name] for name in names if name in measured]
    machines = " / ".join(dict.fromkeys(one.machine for one in chosen))
    lines = [
        "# Benchmarks",
        "",
        f"Made by `python -m tests.bench --write` on {machines}; `make bench` prints the same.",
        "A ratio is the median of interleaved pairs with its bootstrap 95 % interval: it is not a "
        "measurement with fewer than 9 pairs or with an interval wider than 5 %. A figure is the "
        "median of several: it is not a measurement with fewer than 6 or while its bar is inside "
        "its interval.",
        "`python -m tests.bench --help` lists the measures; each can be made alone.",
        "",
        "| measure | measured | against | bar | verdict | on |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.what} | {row.value} | {row.against} | {row.bar} | {row.verdict} | {one.day} |"
        for one in chosen
        for row in one.rows
    ]
    return "\n".join(lines) + "\n"
