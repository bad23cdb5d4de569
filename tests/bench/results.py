"""What was measured last, measure by measure, and the page made of it.

results.json holds samples and where they come from, never a verdict: those are made with the page.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypeAlias

from tests.bench.measure import Measure
from tests.bench.origin import ROOT, Machine, Origin
from tests.bench.rows import MEDIAN_OF, PAIRS, UNSURE, WIDEST, Line, Row, Samples

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "benchmarks.md"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NUMBERS = re.compile(r"\[\s+([^][{}\"]*?)\s+\]")  # a list of them, one a line
_DIGITS = 6  # of a sample, more than any of them is good for


@dataclass(frozen=True)
class Record:
    """All samples of one measure, with their units and where they come from."""

    origin: Origin
    units: Mapping[str, str]
    samples: Samples


@dataclass(frozen=True)
class Lost:
    """Rows that a commit wrote down as text: their samples were not kept."""

    commit: str


Kept: TypeAlias = Record | Lost


def load(file: Path = RESULTS) -> dict[str, Kept]:
    """By the measure's name. Raises ValueError for a record that lacks what it needs."""
    document = json.loads(file.read_text(encoding="utf-8"))
    return {name: _read(f"{file.name}, {name}", one) for name, one in document.items()}


def save(kept: Mapping[str, Kept], names: Sequence[str], file: Path = RESULTS) -> None:
    """In the order of `names`; what is not among them is no measure any more.

    Raises ValueError, and writes nothing, for a record that could not be loaded again.
    """
    document = {name: _written(kept[name]) for name in names if name in kept}
    for name, one in document.items():
        _read(f"{file.name}, {name}", one)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    text = _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text)
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def page(kept: Mapping[str, Kept], measures: Mapping[str, Measure]) -> str:
    """docs/benchmarks.md: a line for each row of these measures."""
    origins = [
        one.origin.place
        for name, one in kept.items()
        if name in measures and isinstance(one, Record)
    ]
    places = {place: _letter(at) for at, place in enumerate(dict.fromkeys(origins))}
    lines = [
        "# Benchmarks",
        "",
        "Made by `python -m tests.bench --write`; `make bench` prints the same. "
        "`python -m tests.bench --help` lists the measures: each can be made alone, takes as many "
        "samples as the code says beforehand, and replaces all that it had. "
        "Verdicts are made with this page, of the samples in `tests/bench/results.json`.",
        "",
        "A sample is a new start of what is measured, or of both: what one start shows for a while "
        "is one sample.",
        f"A ratio is the median of interleaved pairs with its bootstrap 95 % interval: it is not a "
        f"measurement with fewer than {PAIRS} pairs or with an interval wider than "
        f"{100 * WIDEST:g} % of it.",
        "A figure is the median of several: it is not a measurement with fewer than "
        f"{MEDIAN_OF} or while its bar is inside its interval. A size is counted: one look is "
        "enough.",
        "",
        *(f"- {letter}: {place}" for place, letter in places.items()),
        *([""] if places else []),
        "| measure | measured | against | bar | verdict | made |",
        "|---|---|---|---|---|---|",
    ]
    for name, measure in measures.items():
        one = kept.get(name)
        made = _made(one.origin, places) if isinstance(one, Record) else ""
        for row in measure.rows:
            line = _line(row, measure, one)
            cells = (line.what, line.value, line.against, line.bar, line.verdict, made)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _line(row: Row, measure: Measure, kept: Kept | None) -> Line:
    """A row of what was kept; one that can't be told says why, and has no verdict."""
    if isinstance(kept, Record):
        if set(row.columns) <= set(kept.samples):
            line = row.line(kept.samples, kept.units)
            number = len(kept.samples[row.columns[0]])
            if number == measure.samples or row.bar is None:
                return line
            verdict = f"{UNSURE}; {number} of {measure.samples} samples"
            return Line(line.what, line.value, line.against, line.bar, verdict)
        why = "measured before it was so defined; to be made again"
    elif isinstance(kept, Lost):
        why = f"measured before samples were kept (commit `{kept.commit[:7]}`); to be made again"
    else:
        why = "not measured yet"
    against = row.against if isinstance(row.against, str) else ""
    return Line(row.what, why, against, row.bar.words if row.bar else "", "")


def _made(origin: Origin, places: Mapping[str, str]) -> str:
    commit = f"`{origin.commit[:7]}`" if origin.commit else "no commit"
    changed = " and changes" if origin.changed else ""
    return f"{origin.day}, {commit}{changed}, {places[origin.place]}"


def _letter(at: int) -> str:
    return ascii_uppercase[at] if at < len(ascii_uppercase) else str(at + 1)


def _read(where: str, document: Mapping[str, Any]) -> Kept:
    commit = document.get("lost", document.get("commit", ""))
    if not _COMMIT.fullmatch(str(commit)):
        raise ValueError(f"{where}: no whole commit but {commit!r}; measure it again in a clone")
    if "lost" in document:
        return Lost(commit)
    try:
        changed, day, versions = (document[name] for name in ("changed", "day", "versions"))
        origin = Origin(commit, changed, day, Machine(**document["machine"]), versions)
        units, samples = document["units"], document["samples"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{where}: lacks something: {error}; measure it again") from None
    if set(units) != set(samples) or len({len(of) for of in samples.values()}) != 1:
        raise ValueError(f"{where}: not as many samples with a unit in each column")
    if not all(of and all(map(math.isfinite, of)) for of in samples.values()):
        raise ValueError(f"{where}: no samples, or one that is no finite figure")
    return Record(origin, units, {name: tuple(of) for name, of in samples.items()})


def _written(kept: Kept) -> dict[str, Any]:
    if isinstance(kept, Lost):
        return {"lost": kept.commit}
    samples = {
        name: [float(f"{value:.{_DIGITS}g}") for value in of] for name, of in kept.samples.items()
    }
    return {**asdict(kept.origin), "units": dict(kept.units), "samples": samples}
