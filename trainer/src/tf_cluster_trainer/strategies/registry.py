"""Chooses the strategy of a combination: the module that its row names.

A module is imported when it is chosen, because each needs other parts of TensorFlow. With a task
`chief`, a module has `make`; otherwise it has `configure` and `prepare`, for every worker.
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
        """The device of every trainable variable, by the variable's name."""


def make(context: StrategyContext, strategy: Any, resume_point: ResumePoint) -> InGraph:
    """Make the chief's training, of a combination with a task `chief`.

    `strategy` is TensorFlow's, connected to the cluster.
    """
    module = _module(context.config.settings.combination)
    training: InGraph = module.make(context, strategy, resume_point)
    return training


def configure(config: Config) -> None:
    """Configure TensorFlow for a worker's strategy, before TensorFlow's first operation."""
    _module(config.settings.combination).configure(config)


def prepare(config: Config, prepared: Prepared) -> Join:
    """Return the function by which a worker joins; do now what needs no other task.

    Raises HookError and ProgramError.
    """
    join: Join = _module(config.settings.combination).prepare(config, prepared)
    return join


def _module(combination: Combination) -> Any:
    return import_module(f"{__package__}.{combination.module}")
