"""Workers that each build the model for themselves have to build the same one.

Otherwise steps of two models would meet in one state, or a worker would wait for variables that
nobody makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError


def fingerprint(variables: Mapping[str, TensorSpec], trained: Collection[str]) -> int:
    """A number below 2^63 for a model's variables: shape, type, trained or not, in their order.

    Their names don't count: a model whose first call was traced may have others.
    """
    return number_of([(one.shape, one.dtype, key in trained) for key, one in variables.items()])


def number_of(what: Any) -> int:
    """A number below 2^63 that stands for this, by its `repr`."""
    digest = hashlib.sha256(repr(what).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def check(fingerprints: Iterable[int]) -> None:
    """Raise ProgramError if those of worker-0, worker-1, … differ."""
    first, *others = fingerprints
    others_differ = [f"worker-{at}" for at, one in enumerate(others, 1) if one != first]
    if others_differ:
        raise differs(", ".join(others_differ))


def differs(workers: str) -> ProgramError:
    """The error of a program that builds another model on these workers."""
    return ProgramError(
        f"build_model made another model on {workers} than on worker-0: its variables differ in "
        "number, order, shape, type, or in which of them are trained. Every worker builds the "
        "model for itself, so build_model must not depend on the task, on its files or on chance"
    )
