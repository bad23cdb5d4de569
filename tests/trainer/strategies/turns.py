"""Whose turn it is, where several tests see one promise kept, each for its combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tests.slices import in_turn

Test = TypeVar("Test", bound=Callable[..., Any])

# Micro-batches, and a rate that follows a schedule, are what one process computes.
AS_IN_ONE_PROCESS = (
    "between-graph sync",
    "between-graph async",
    "in-graph sync",
    "all-reduce",
    "in-graph async",
)
# Each asynchronous worker takes the part of the data that is its own.
OWN_PART = ("in-graph", "between-graph")
# A run goes to between-graph and back, with its slots.
MOVES = ("in-graph", "all-reduce")
# Tasks that are killed, frozen or late cost a training no result.
FAULTS = ("in-graph", "between-graph", "all-reduce")


def turn(promise: tuple[str, ...], of: str) -> Callable[[Test], Test]:
    """For a test that sees the promise kept in this one of its cases; else it is marked `full`."""
    return in_turn(promise.index(of), len(promise))
