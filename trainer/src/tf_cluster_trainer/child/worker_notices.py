"""TensorFlow's log, in one plain sentence a record: what happens to workers is worth knowing."""

from __future__ import annotations

import logging
from collections.abc import Callable

_FAILED = "Worker %s failed with"
_RECOVERED = "Worker %s has been recovered"


class WorkerNotices(logging.Handler):
    """Says which worker was lost and which is back; other errors in their first line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Say it, if it is worth it."""
        text = str(record.msg)
        if text.startswith(_FAILED):
            self._say(f"{_task(record)} is lost; its call goes to another worker")
        elif text.startswith(_RECOVERED):
            self._say(f"{_task(record)} is back")
        elif record.levelno >= logging.CRITICAL:
            self._say(record.getMessage().splitlines()[0])


def install(say: Callable[[str], None]) -> None:
    """From now on TensorFlow's Python log goes through here."""
    logger = logging.getLogger("tensorflow")
    logger.handlers = [WorkerNotices(say)]
    logger.propagate = False
    logger.setLevel(logging.INFO)


def _task(record: logging.LogRecord) -> str:
    device = str(record.args[0]) if isinstance(record.args, tuple) and record.args else "a worker"
    kind, _, index = device.removeprefix("/job:").partition("/")
    return f"{kind}-{index.rpartition(':')[2]}"
