"""Which strategy a worker that trains by itself joins in."""

from __future__ import annotations

from collections.abc import Callable

from tf_cluster_trainer.config import ConfigError, Settings
from tf_cluster_trainer.strategies.trainee import Joining, Trainee


def of(settings: Settings) -> Callable[[Joining], Trainee]:
    """How to join. Raises ConfigError for a combination that needs a chief.

    Imported when chosen: the strategies need parts of TensorFlow that the others can do without.
    """
    if settings.strategy == "parameter-server" and settings.replication == "between-graph":
        from tf_cluster_trainer.strategies import between_graph

        return between_graph.join
    raise ConfigError(f"{settings.strategy}/{settings.replication}/{settings.update} has a chief")
