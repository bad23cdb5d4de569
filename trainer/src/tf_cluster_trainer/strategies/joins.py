"""Which strategy a worker that trains by itself joins in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tf_cluster_trainer.child.preparing import Prepared
from tf_cluster_trainer.config import Config, ConfigError
from tf_cluster_trainer.strategies.trainee import Joining, Trainee

Join = Callable[[Joining], Trainee]


def announce(told: Config) -> None:
    """What a strategy must say to TensorFlow before the first operation."""
    if told.settings.strategy == "all-reduce":
        from tf_cluster_trainer.strategies import all_reduce

        all_reduce.announce(told)


def prepare(told: Config, prepared: Prepared) -> Join:
    """How to join; what can be done, and go wrong, before any other task is there is done now.

    Raises HookError and ProgramError, and ConfigError for a combination that needs a chief.
    The strategies are imported when chosen: they need parts of TensorFlow that others do without.
    """
    settings = told.settings
    if settings.strategy == "all-reduce":
        from tf_cluster_trainer.strategies import all_reduce

        return all_reduce.join
    if settings.strategy == "parameter-server" and settings.replication == "between-graph":
        from tf_cluster_trainer.strategies import between_graph

        return partial(between_graph.join, step=between_graph.trace(told, prepared))
    raise ConfigError(f"{settings.strategy}/{settings.replication}/{settings.update} has a chief")
