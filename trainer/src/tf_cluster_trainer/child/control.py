"""The child's end of the conversation with its supervisor."""

from __future__ import annotations

import os
import threading

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Channel, Finish, Go


class Orders:
    """The supervisor's messages so far. `last_step` is that of Finish, once `finish` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.finish = threading.Event()
        self.last_step: int | None = None


def listen(channel: Channel) -> Orders:
    """Read the supervisor's messages from now on, in a thread.

    If the supervisor's end closes, this process ends at once: nobody could learn how it ends.
    """
    orders = Orders()

    def read_messages() -> None:
        try:
            for message in channel.receive():
                if isinstance(message, Go):
                    orders.go.set()
                elif isinstance(message, Finish):
                    orders.last_step = message.step
                    orders.finish.set()
        finally:
            os._exit(exit_codes.FAILED)

    threading.Thread(target=read_messages, name="control", daemon=True).start()
    return orders
