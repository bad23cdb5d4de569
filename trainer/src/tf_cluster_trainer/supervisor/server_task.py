"""A ps, or a worker that a chief drives: its child is a TensorFlow server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import protocol
from .document import RUNNING, Outcome
from .follower import Follower


class ServerTask(Follower):
    """Serves while the attempt lasts. A worker ends with it; a ps never ends by itself."""

    starting = "starting the TensorFlow server"
    process = "the server process"

    def _on_message(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Serving):
            self._serves(RUNNING, "serving")

    def _on_chief(self, chief: Mapping[str, Any], *, from_file: bool) -> Outcome | None:
        if self._task.type == "worker":
            return self._end_with(chief, from_file=from_file)
        if self._config.settings.epoch_bound == self._task.type:
            self._keep_epoch(chief)
        return None
