"""Checks during training that every peer still runs the server that the chief's child uses.

A replaced server usually closes its connections, and the child notices. A server that is lost with
its node does not: the child would wait for its answer without end, while the new server knows
nothing of this child.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.ask import ABSENT_SECONDS, NoAnswerError, NoNameError, ask
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer, health_of
from tf_cluster_trainer.supervisor.rules.guard import Guarded, look

_ASKED = 20.0  # questions per second to all peers together: one costs a quarter of a ms


class PeerGuard:
    """Polls slowly which server every peer runs, each in a thread, until stopped.

    `known` is what each said when training began. The poll names no epoch, because a ps would adopt
    it. rules/guard.py decides what follows from the answers.
    """

    def __init__(
        self,
        peers: Iterable[Peer],
        known: Mapping[str, Health],
        inbox: Inbox,
        *,
        child: int,
        attempt: str,
        period: float,
    ) -> None:
        self._inbox = inbox
        self._child = child
        peers = tuple(peers)
        self._period = max(period, len(peers) / _ASKED)
        self._stopped = threading.Event()
        self._began = time.monotonic()
        for place, peer in enumerate(peers, start=1):
            guarded = Guarded(peer.task, attempt, known[peer.task].server)
            asking = (peer, guarded, self._period * place / len(peers))
            threading.Thread(target=self._ask_on, args=asking, daemon=True).start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, guarded: Guarded, moment: float) -> None:
        """Ask at this moment of each round, in seconds from its begin.

        All in one moment, a thousand threads would wait for one another.
        """
        absent = 0.0
        while not self._stopped.wait(max(absent, self._until(moment))):
            absent = 0.0
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                health = Health(False, None, "", "", reason=str(silence))
                if isinstance(silence, NoNameError):
                    absent = ABSENT_SECONDS
            guarded, events = look(guarded, health, self._child)
            for event in events:
                self._inbox.put(event)

    def _until(self, moment: float) -> float:
        """Seconds until it comes, in this round or the next."""
        return self._period - (time.monotonic() - self._began - moment) % self._period
