"""Where a training stands, as one line for people and as numbers (docs/formats.md)."""

from __future__ import annotations

from typing import Any

from tf_cluster_trainer.supervisor.status.document import Document

# The fields of the status document that a record of progress repeats.
NUMBERS = (
    "step",
    "total",
    "percent",
    "stepsPerSecond",
    "examples",
    "examplesPerSecond",
    "etaSeconds",
    "loss",
    "checkpointStep",
    "workers",
)


def progress_numbers(document: Document) -> dict[str, Any]:
    """The numbers that are known, by their names in the status document."""
    said = document.as_json()
    return {name: said[name] for name in NUMBERS if said[name] not in (None, {})}


def _rate(steps_per_second: float) -> str:
    """`412`; `0.031` where a step takes seconds."""
    return f"{steps_per_second:.0f}" if steps_per_second >= 1 else f"{steps_per_second:.2g}"


def progress_line(document: Document) -> str:
    """`running 60.0%, step 1200 of 2000, 412 steps/s, ETA 0:02, loss 0.31, workers 610 590`."""
    known = progress_numbers(document)
    said = []
    if "percent" in known:
        said.append(f"{known['percent']:.1f}%")
    if "step" in known and "total" in known:
        said.append(f"step {known['step']} of {known['total']}")
    if "stepsPerSecond" in known:
        said.append(f"{_rate(known['stepsPerSecond'])} steps/s")
    if "etaSeconds" in known:
        said.append(f"ETA {_duration(known['etaSeconds'])}")
    if "loss" in known:
        said.append(f"loss {known['loss']:.3g}")
    if "workers" in known:
        by_index = sorted(known["workers"].items(), key=lambda item: int(item[0]))
        said.append("workers " + " ".join(str(steps) for _, steps in by_index))
    return f"{document.status} {', '.join(said)}"


def _duration(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
