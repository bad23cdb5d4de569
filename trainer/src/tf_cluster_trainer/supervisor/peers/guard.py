"""Checks during training that every peer still runs the server that the chief's child uses.

A replaced server usually closes its connections, and the child notices. A server that is lost with
its node does not: the child would wait for its answer without end, while the new server knows
nothing of this child.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.ask import ABSENT_SECONDS, NoAnswerError, NoNameError, ask
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer, health_of
from tf_cluster_trainer.supervisor.rules.guard import Guarded, look

_ASKED = 20.0  # questions per second to all peers together: one costs half a millisecond


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
        for place, peer in enumerate(peers, start=1):
            guarded = Guarded(peer.task, attempt, known[peer.task].server)
            # Not all in one moment of each round: a thousand threads would wait for one another.
            first = self._period * place / len(peers)
            asking = (peer, guarded, first)
            threading.Thread(target=self._ask_on, args=asking, daemon=True).start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, guarded: Guarded, pause: float) -> None:
        while not self._stopped.wait(pause):
            pause = self._period
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                health = Health(False, None, "", "", reason=str(silence))
                if isinstance(silence, NoNameError):
                    pause = max(pause, ABSENT_SECONDS)
            guarded, events = look(guarded, health, self._child)
            for event in events:
                self._inbox.put(event)
