"""Whether this task has the memory for its copies of a model or a state.

What can't fit is an error with its numbers, instead of a kill by the kernel. What may be too little
is logged. `tf-cluster plan` reckons with the same lines (generator, planning/memory.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from tf_cluster_trainer import container_memory
from tf_cluster_trainer.checkpoint.pieces import (
    SMALL_STATE_BYTES,
    beside_pages,
    can_be_mapped,
    is_small,
    piece_bytes,
    size,
)
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.log import WARNING, log

MEBIBYTE = 1 << 20
ROLES = {"chief": (700, 1.75), "worker-0": (740, 1.75), "evaluator": (640, 1.75)}
"""MiB that a task takes without a model, and times what it copies."""


def look_at_own(role: str, variables: Mapping[str, TensorSpec], state: int, parts: int = 1) -> None:
    """Log it if this task, of a role of ROLES, may have too little for a large state.

    `state` is its bytes; `parts` as `copied` has it.
    """
    limit = container_memory.limit()
    if limit is None or is_small(state):
        return
    base, times = ROLES[role]
    likely = base * MEBIBYTE + times * copied(variables, state, parts)
    if likely > limit:
        log(
            f"this task needs up to about {mib(likely)} and may have {mib(limit)}: that may be "
            "too little, and the kernel would kill it; give it more memory "
            f"({memory_limit(role.partition('-')[0])})",
            WARNING,
        )


def check_made(values: int, read: str, failed: Exception | None) -> None:
    """Raise ProgramError if this task can't hold so many bytes, of all values of a large model.

    `read` is the variable that the program reads while it builds the model; "" if it is not that.
    `failed`: why it can't be built without values.
    """
    if is_small(values):
        return
    limit, needs = container_memory.limit(), container_memory.taken() + values
    if limit is None or needs <= limit:
        return
    why = f"the program reads {read} while its model is built" if read else "it can't be without"
    if failed and not read:
        why += f" ({failed})"
    raise ProgramError(
        f"the model has to be made with all its values here, since {why}: that needs at least "
        f"{mib(needs)}, and this task may have {mib(limit)}. Have an initializer make such values, "
        "and read none in build_model; or give the task more memory "
        f"({memory_limit('ROLE')})"
    )


def copied(variables: Mapping[str, TensorSpec], state: int, parts: int = 1) -> int:
    """Bytes that a task with a whole state, or the whole model, has in memory at once.

    `parts`: in how many parts the ps have a variable, at most, if it is no larger than PART_BYTES.
    """
    if is_small(state):
        return state
    in_memory = sum(
        beside_pages(spec, parts) if can_be_mapped(key, spec, state) else size(spec)
        for key, spec in variables.items()
    )
    larger_pieces = 8 * (piece_bytes(state) - piece_bytes(0))
    return SMALL_STATE_BYTES + larger_pieces + in_memory


def memory_limit(role: str) -> str:
    """Where a user gives the tasks of a role more memory."""
    return f"values: {role}.resources.limits.memory; params: resources.{role}.limits.memory"


def mib(size: float) -> str:
    """In words."""
    return f"{size / MEBIBYTE:,.0f} MiB"
