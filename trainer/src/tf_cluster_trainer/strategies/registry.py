"""Which strategy trains a combination: the module that its row names.

Modules are imported when chosen: they need parts of TensorFlow that others do without. Where there
is a chief task a module has `make`; else `configure` and `prepare`, for every worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.config import Combination, Config
from tf_cluster_trainer.loop.protocols import Calls
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.strategies.context import Join, StrategyContext


class InGraph(Calls, Protocol):
    """A training that the chief drives: its calls, and the variables on the ps."""

    model: Any
    optimizer: Any

    def devices(self) -> Mapping[str, str]:
        """Where every trainable variable is, by the variable's name."""


def make(context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> InGraph:
    """The chief's training, of a combination that has a chief task.

    `strategy` is TensorFlow's, connected to the cluster.
    """
    module = _module(context.config.settings.combination)
    training: InGraph = module.make(context, strategy, resume_point)
    return training


def configure(config: Config) -> None:
    """Say to TensorFlow what the strategy of a worker needs before the first operation."""
    _module(config.settings.combination).configure(config)


def prepare(config: Config, prepared: Prepared) -> Join:
    """How a worker joins; what can go wrong before any other task is there is done now.

    Raises HookError and ProgramError.
    """
    join: Join = _module(config.settings.combination).prepare(config, prepared)
    return join


def _module(combination: Combination) -> Any:
    return import_module(f"{__package__}.{combination.module}")
