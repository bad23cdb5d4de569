"""Calls the program's `evaluate` hook and checks its answer."""

from __future__ import annotations

from typing import Any

from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import tables
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context


def measure(program: Program, ctx: Context, model: Any) -> dict[str, float]:
    """Return the program's measures by name. `model` is plain and has trained weights.

    Raises HookError if the hook fails, and ProgramError if it returns anything but numbers.
    """
    try:
        # An evaluator calls it for every checkpoint.
        with tables.ending_with_their_use():
            measured = program.evaluate(ctx, model)
    except Exception as error:
        raise HookError("evaluate", error) from error
    try:
        return {str(name): float(value) for name, value in measured.items()}
    except (AttributeError, TypeError, ValueError):
        raise ProgramError(
            f"evaluate must return a mapping of names to numbers; it returned {measured!r}"
        ) from None
