"""A child that is the user's script."""

from __future__ import annotations

from collections.abc import Mapping

from ..config import Config
from ..script_start import script_start
from .child_process import Child
from .inbox import Inbox


def script_process(
    number: int, config: Config, environment: Mapping[str, str], inbox: Inbox
) -> Child:
    """Start it. Raises ConfigError, as `script_start` does."""
    start = script_start(config, environment)
    return Child(number, start.command, start.environment, inbox, directory=start.directory)
