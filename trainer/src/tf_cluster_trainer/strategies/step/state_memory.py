"""Whether the ps, or a worker of all-reduce, have the memory for the run's state.

It is looked at before anything trains: an error with its numbers, not a kill by the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_cluster_trainer import container_memory
from tf_cluster_trainer.checkpoint.pieces import is_small, total
from tf_cluster_trainer.config import ConfigError, Optimizer
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.program.memory import MEBIBYTE, mib
from tf_cluster_trainer.program.trial import Trial
from tf_cluster_trainer.ps_volume import reach
from tf_cluster_trainer.servers import ps_files
from tf_cluster_trainer.servers.lost import is_peer_lost
from tf_cluster_trainer.strategies.step import devices, optimizers

PS = (480, 1.5)
"""MiB that a ps takes without a state, and times its share: as `tf-cluster plan` reckons."""


UNEVEN = 1.1
"""A ps with so many times an even share has a variable that is on no other ps."""
BARE_PS_BYTES = 150 << 20
"""What a ps takes before it has variables; it may have those of an earlier start, too."""
Ask = Callable[[], Iterable[bytes]]
"""Run the operations of `memory_ops`."""


@dataclass(frozen=True)
class PsMemory:
    """What a ps said: bytes that it takes now, and that it may have; None where it may have all."""

    taken: int
    limit: int | None


def ps_memory(said: bytes) -> PsMemory | None:
    """Of a ps' answer to ps_files.MEMORY; None if it does not know how."""
    try:
        taken, limit = map(int, said.split())
    except ValueError:
        return None
    return PsMemory(taken, limit or None)


def memory_ops(ps: int) -> list[Any]:
    """An operation for each ps that asks it for its memory."""
    asked = []
    for task in range(ps):
        with tf.device(devices.ps(task)):
            asked.append(reach.ps_files_op(ps_files.MEMORY, tf.constant([""])))
    return asked


def look_at_ps(state: int, ps: int, ask: Ask, share: int | None = None) -> None:
    """Ask the ps, where the state is large, and check what they say. Raises as `check_ps` does."""
    if is_small(state):
        return
    try:
        said = [ps_memory(one) for one in ask()]
    except reach.UNKNOWN as error:
        if is_peer_lost(error):
            raise
        said = [None] * ps  # of another image
    check_ps(state, said, share)


def check_ps(state: int, ps: Sequence[PsMemory | None], share: int | None = None) -> None:
    """Log the share of a ps. Raises ConfigError if one of them can't have the memory that it needs.

    `share`: bytes of the ps with the most, where it is known. However the state is spread, one of
    n ps has an nth of it or more.
    """
    even = math.ceil(state / len(ps))
    share = even if share is None else max(share, even)
    has = "has about" if share < UNEVEN * even else "has up to"
    base, times = PS
    likely = base * MEBIBYTE + times * share
    log(
        f"of the state of {mib(state)}, a ps {has} {mib(share)}; it needs up to about "
        f"{mib(likely)} for that"
    )
    known = [one for one in ps if one is not None]
    limits = [one.limit for one in known if one.limit is not None]
    if len(limits) < len(ps):
        return
    most = max(limits)
    least = share + min(BARE_PS_BYTES, *(one.taken for one in known))
    rest = most - base * MEBIBYTE
    way_out = "give them more memory (ps.resources.limits.memory)"
    if rest > 0 and share < UNEVEN * even:  # more ps would not divide what is whole on one
        way_out += f" or take {math.ceil(state * times / rest)} of them"
    if least > most:
        raise ConfigError(
            f"the state of {mib(state)} does not fit {len(ps)} ps: one of them needs at least "
            f"{mib(least)}, and none may have more than {mib(most)}; {way_out}"
        )
    if likely > min(limits):
        log(
            f"a ps may have {mib(min(limits))}: that may be too little, and the kernel would kill "
            f"it; {way_out}",
            WARNING,
        )


def state_bytes(trial: Trial, optimizer: Optimizer) -> int:
    """Bytes of the model and the optimizer's slots."""
    trained = total(spec for key, spec in trial.variables.items() if key in trial.trained)
    return total(trial.variables.values()) + len(optimizers.slots(optimizer)) * trained


def check_held(state: int) -> None:
    """Raise ConfigError if this task can't hold a whole state, which all-reduce needs."""
    limit, needs = container_memory.limit(), container_memory.taken() + state
    if limit is not None and needs > limit:
        raise ConfigError(
            f"with all-reduce each worker holds the whole state of {mib(state)}: this one needs "
            f"at least {mib(needs)} and may have {mib(limit)}; give workers more memory "
            "(worker.resources.limits.memory), or train with parameter servers"
        )
