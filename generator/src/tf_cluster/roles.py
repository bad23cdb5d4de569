"""Which roles a training has: by its method, and whether it is evaluated; as the chart has it."""

from collections.abc import Mapping
from typing import Any

COMBINATIONS = (
    ("parameter-server", "in-graph", "async"),
    ("parameter-server", "in-graph", "sync"),
    ("parameter-server", "between-graph", "async"),
    ("parameter-server", "between-graph", "sync"),
    ("all-reduce", "between-graph", "sync"),
)
"""Strategy, replication and update that go together."""

ALL_REDUCE = {"replication": "between-graph", "update": "sync"}
"""What the strategy all-reduce leaves no choice in."""


def has_chief(values: Mapping[str, Any]) -> bool:
    """Whether one task drives the workers; else every worker trains, and worker 0 keeps the run."""
    return bool(values["replication"] == "in-graph")


def has_ps(values: Mapping[str, Any]) -> bool:
    """Whether variables live on parameter servers."""
    return bool(values["strategy"] != "all-reduce")


def has_evaluator(values: Mapping[str, Any]) -> bool:
    """Whether a task of its own measures the checkpoints."""
    return bool((values.get("evaluator") or {}).get("enabled"))


def absent_roles(values: Mapping[str, Any]) -> dict[str, str]:
    """The roles that these (effective) values have no task of, each with the reason in words."""
    absent = {}
    if not has_chief(values):
        absent["chief"] = "replication between-graph has no chief: worker 0 does its work"
    if not has_ps(values):
        absent["ps"] = "strategy all-reduce has no parameter servers"
    if not has_evaluator(values):
        absent["evaluator"] = "there is no evaluator unless it is asked for"
    return absent
