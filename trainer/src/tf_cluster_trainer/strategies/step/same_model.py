"""Workers that each build the model for themselves have to build the same one.

Otherwise steps of two models would meet in one state, or a worker would wait for variables that
nobody makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError


def fingerprint(variables: Mapping[str, TensorSpec]) -> int:
    """A number, below 2^63, that stands for these names, shapes and types in this order."""
    words = repr([(key, tuple(one.shape), one.dtype) for key, one in variables.items()])
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 1


def check(numbers: Iterable[int]) -> None:
    """Raise ProgramError if these, the fingerprints of worker-0, worker-1, …, differ."""
    first, *others = numbers
    others_differ = [f"worker-{at}" for at, one in enumerate(others, 1) if one != first]
    if others_differ:
        raise differs(", ".join(others_differ))


def differs(workers: str) -> ProgramError:
    """The error of a program that builds another model on these workers."""
    return ProgramError(
        f"build_model made another model on {workers} than on worker-0: its variables have other "
        "names, shapes or types. Every worker builds the model for itself, so build_model must "
        "not depend on the task, on its files or on chance"
    )
