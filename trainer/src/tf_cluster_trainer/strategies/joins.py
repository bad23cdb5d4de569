"""Which strategy a worker that trains by itself joins in."""

from __future__ import annotations

from collections.abc import Callable

from tf_cluster_trainer.config import Config, ConfigError, Settings
from tf_cluster_trainer.strategies.trainee import Joining, Trainee


def announce(told: Config) -> None:
    """What a strategy must say to TensorFlow before the first operation."""
    if told.settings.strategy == "all-reduce":
        from tf_cluster_trainer.strategies import all_reduce

        all_reduce.announce(told)


def of(settings: Settings) -> Callable[[Joining], Trainee]:
    """How to join. Raises ConfigError for a combination that needs a chief.

    Imported when chosen: the strategies need parts of TensorFlow that the others can do without.
    """
    if settings.strategy == "all-reduce":
        from tf_cluster_trainer.strategies import all_reduce

        return all_reduce.join
    if settings.strategy == "parameter-server" and settings.replication == "between-graph":
        from tf_cluster_trainer.strategies import between_graph

        return between_graph.join
    raise ConfigError(f"{settings.strategy}/{settings.replication}/{settings.update} has a chief")
