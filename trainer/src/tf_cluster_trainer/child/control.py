"""The child's end of the conversation with its supervisor."""

from __future__ import annotations

import os
import threading

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Channel, Go


def wait_for_go(channel: Channel) -> threading.Event:
    """An event that is set when Go comes.

    When the supervisor's end closes, this process ends at once: nobody would hear of its fate.
    """
    go = threading.Event()

    def listen() -> None:
        try:
            for message in channel.receive():
                if isinstance(message, Go):
                    go.set()
        finally:
            os._exit(exit_codes.FAILED)

    threading.Thread(target=listen, name="control", daemon=True).start()
    return go
