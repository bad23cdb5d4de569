"""Which strategy trains a combination: the module that its row names.

Modules are imported when chosen: they need parts of TensorFlow that others do without. Where there
is a chief a module has `make`; else `announce` and `prepare`, for every worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from tf_cluster_trainer.config import Combination, Config
from tf_cluster_trainer.loop.protocols import Calls
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.strategies.parameter_servers import Making
from tf_cluster_trainer.strategies.trainee import Join


class InGraph(Calls, Protocol):
    """A training that the chief drives: its calls, and the variables on the ps."""

    model: Any
    optimizer: Any

    def devices(self) -> Mapping[str, str]:
        """Where every trainable variable is, by the variable's name."""


def make(combination: Combination, making: Making) -> InGraph:
    """The chief's training, of a combination that has a chief."""
    training: InGraph = _module(combination).make(making)
    return training


def announce(told: Config) -> None:
    """Say to TensorFlow what the strategy of a worker needs before the first operation."""
    _module(told.settings.combination).announce(told)


def prepare(told: Config, prepared: Prepared) -> Join:
    """How a worker joins; what can go wrong before any other task is there is done now.

    Raises HookError and ProgramError.
    """
    join: Join = _module(told.settings.combination).prepare(told, prepared)
    return join


def _module(combination: Combination) -> Any:
    return import_module(f"{__package__}.{combination.module}")
