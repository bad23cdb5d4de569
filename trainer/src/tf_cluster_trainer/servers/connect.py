"""Connects to the cluster without an endless wait for a task that has just gone.

TensorFlow connects without a deadline and holds Python's lock meanwhile: no thread and no signal
handler of ours runs. So we check the peers first, and leave the rest to signals that the kernel
handles.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.servers.health import accepts_connections

LOOKS = 3
LOOK_SECONDS = 1.0
CONNECT_SECONDS = 60.0


def check_peers(cluster: Cluster, sleep: Callable[[float], None] = time.sleep) -> None:
    """Raise PeerLostError that names the tasks which do not listen in several tries."""
    for look in range(LOOKS):
        absent = [
            f"{kind}-{index} is lost: nothing listens at {address}"
            for kind in ("worker", "ps")
            for index, address in enumerate(cluster.cluster.get(kind, ()))
            if not accepts_connections(address)
        ]
        if not absent:
            return
        if look + 1 < LOOKS:
            sleep(LOOK_SECONDS)
    raise PeerLostError(absent[0])


@contextmanager
def killable(seconds: float = CONNECT_SECONDS) -> Iterator[None]:
    """Inside this context SIGTERM, or the deadline, kills the process outright (0: no deadline).

    Safe, because nothing needs saving yet. The supervisor takes a death by a signal for a lost
    peer.
    """
    ours = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, ours)
