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
from tf_cluster_trainer.checkpoint.pieces import is_small, size
from tf_cluster_trainer.checkpoint.variables import StoredTensor, spec_of
from tf_cluster_trainer.config import ConfigError, Optimizer
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.memory import MEBIBYTE, memory_limit, mib
from tf_cluster_trainer.program.trial import Trial
from tf_cluster_trainer.ps_volume import reach
from tf_cluster_trainer.servers import ps_files
from tf_cluster_trainer.servers.lost import is_peer_lost
from tf_cluster_trainer.strategies.step import devices, optimizers

PS = (480, 1.5)
"""MiB that a ps takes without a state, and times its share: as `tf-cluster plan` reckons."""

UNEVEN = 1.1
"""With so many times an even share on a ps, the state does not lie evenly on all."""

BARE_PS_BYTES = 150 << 20
"""What a ps takes before it has variables; it may have those of an earlier start, too."""

Ask = Callable[[], Iterable[bytes]]
"""Run the operations of `memory_ops`."""


@dataclass(frozen=True)
class PsMemory:
    """What a ps said: bytes that it takes now, and that it may have; None where it may have all."""

    taken: int
    limit: int | None


@dataclass(frozen=True)
class Spread:
    """How a state lies on the ps, in bytes, with the slots of each variable.

    `fullest`: what the ps with the most has; the least of it that is known, before it has it.
    `largest`: of what is on one ps, however many there are.
    """

    fullest: int
    largest: int


def spread_of(stored: Sequence[StoredTensor]) -> Spread:
    """Of the variables and slots as they lie on the ps."""
    families: dict[tuple[str, int], int] = {}
    for one in stored:
        for at, part in enumerate(one.parts):
            key = one.slot_of or one.key, at
            families[key] = families.get(key, 0) + size(spec_of(part))
    return Spread(max(devices.ps_bytes(stored).values()), max(families.values()))


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


def look_at_ps(state: int, ps: int, ask: Ask, spread: Spread | None = None) -> None:
    """Ask the ps, where the state is large, and check what they say. Raises as `check_ps` does."""
    if is_small(state):
        return
    try:
        said = [ps_memory(one) for one in ask()]
    except reach.UNKNOWN as error:
        if is_peer_lost(error):
            raise
        said = [None] * ps  # of another image
    check_ps(state, said, spread)


def check_ps(state: int, ps: Sequence[PsMemory | None], spread: Spread | None = None) -> None:
    """Log the share of a ps. Raises ConfigError if one of them can't have the memory that it needs.

    Without `spread` each is taken to have an even share: the fullest has that or more.
    """
    even = math.ceil(state / len(ps))
    share = max(spread.fullest, even) if spread else even
    is_even = share < UNEVEN * even
    base, times = PS
    likely = base * MEBIBYTE + times * share
    has = "a ps has about" if is_even else "the fullest ps has"
    log(
        f"of the state of {mib(state)}, {has} {mib(share)}; it needs up to about {mib(likely)} "
        "for that"
    )
    known = [one for one in ps if one is not None]
    limits = [one.limit for one in known if one.limit is not None]
    if len(limits) < len(ps):
        return
    most = max(limits)
    least = share + min(BARE_PS_BYTES, *(one.taken for one in known))
    rest = most - base * MEBIBYTE
    way_out = f"give them more memory ({memory_limit('ps')})"
    if rest > 0 and times * (spread.largest if spread else 0) <= rest:
        enough = math.ceil(state * times / rest)
        at_least = max(enough, len(ps) + 1)
        some = f"{enough} of them" if is_even else f"more of them, {at_least} at least"
        way_out += f" or take {some}"
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
    return sum(_with_slots(trial, optimizer).values())


def whole_in_graph(trial: Trial, optimizer: Optimizer, computing_in: str) -> Spread | None:
    """What is known before the model is on the ps: another precision keeps each variable whole."""
    if computing_in == precision.FULL:
        return None
    largest = max(_with_slots(trial, optimizer).values(), default=0)
    return Spread(fullest=largest, largest=largest)


def _with_slots(trial: Trial, optimizer: Optimizer) -> dict[str, int]:
    """Bytes of each variable and its slots."""
    slots = len(optimizers.slots(optimizer))
    return {
        key: size(spec) * (1 + slots if key in trial.trained else 1)
        for key, spec in trial.variables.items()
    }


def check_held(state: int) -> None:
    """Raise ConfigError if this task can't hold a whole state, which all-reduce needs."""
    limit, needs = container_memory.limit(), container_memory.taken() + state
    if limit is not None and needs > limit:
        raise ConfigError(
            f"with all-reduce each worker holds the whole state of {mib(state)}: this one needs "
            f"at least {mib(needs)} and may have {mib(limit)}; give workers more memory "
            f"({memory_limit('worker')}), or train with parameter servers"
        )
