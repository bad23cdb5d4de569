"""A worker's session with the ps: one at a time; a new one replaces a lost one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.servers.health import responds
from tf_cluster_trainer.servers.lost import are_lost, is_peer_lost
from tf_cluster_trainer.strategies.between_graph.probe import ConnectionProbe
from tf_cluster_trainer.strategies.step import devices

CLOSE_SECONDS = 1.0


class Session:
    """`current` is TensorFlow's session, or None; `probe` asks every ps in it.

    Any thread may drop the session. A user takes `current` once and gets the end as an error.
    """

    def __init__(self, server: Any, graph: Any, index: int, cluster: Cluster, ping: Any) -> None:
        """`ping` is an operation on every ps, `index` the worker's."""
        self._server = server
        self._graph = graph
        self._index = index
        self._cluster = cluster
        self._ping = ping
        self.current: Any = None
        self.probe = ConnectionProbe(self._ask_every_ps)

    def open(self) -> None:
        """Make a new session; its first run waits for every ps.

        A session waits for every task in its device filters, so other workers are not among them.
        """
        config = tf.compat.v1.ConfigProto(
            device_filters=[devices.ALL_PS, devices.worker_filter(self._index)],
            allow_soft_placement=True,
        )
        self.current = tf.compat.v1.Session(self._server.target, graph=self._graph, config=config)

    def drop(self) -> None:
        """Cancel what runs in the session and close it; waits CLOSE_SECONDS at most."""
        session, self.current = self.current, None
        self.probe.forget()
        if session is not None:
            # Closing cancels its calls, but waits for those that can't be cancelled.
            closing = threading.Thread(target=session.close, daemon=True)
            closing.start()
            closing.join(CLOSE_SECONDS)

    def probe_of(self, session: Any) -> ConnectionProbe:
        """A probe of this TensorFlow session, for a thread that reads in it."""
        return ConnectionProbe(lambda: session.run(self._ping))

    def absent(self, kind: str) -> list[str]:
        """The tasks of this type that do not respond."""
        addresses = self._cluster.cluster.get(kind, ())
        return [f"{kind}-{at}" for at, address in enumerate(addresses) if not responds(address)]

    def _ask_every_ps(self) -> None:
        session = self.current
        if session is not None:
            session.run(self._ping)


def is_session_lost(error: BaseException) -> bool:
    """Whether a new session may cure this error."""
    cancelled = isinstance(error, tf.errors.CancelledError)
    closed = isinstance(error, RuntimeError) and "closed" in str(error)
    timed_out = isinstance(error, tf.errors.DeadlineExceededError)
    return cancelled or closed or timed_out or is_peer_lost(error)


def ps_are_lost(absent: Sequence[str]) -> str:
    """`ps-0 is lost`, for messages; a ps that responds again by now can't be named."""
    return are_lost(absent or ["a ps"])
