"""A child that is the user's script."""

from __future__ import annotations

from collections.abc import Mapping

from tf_cluster_trainer.config import Config
from tf_cluster_trainer.script_start import script_start
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log
from tf_cluster_trainer.supervisor.process.child import Child


def script_process(
    number: int, config: Config, environment: Mapping[str, str], inbox: Inbox, log: Log
) -> Child:
    """Start it. Raises ConfigError, as `script_start` does."""
    start = script_start(config, environment)
    return Child(number, start.command, start.environment, inbox, log, directory=start.directory)
