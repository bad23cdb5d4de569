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
from tf_cluster_trainer.supervisor.rules.events import PeerReplaced, PeerSeen
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer, health_of

LOOKS = 2


class PeerGuard:
    """Polls slowly which server every peer runs, each in a thread, until stopped.

    `known` is what each said when training began. The poll names no epoch, because a ps would adopt
    it. Silence proves nothing by itself: whether a peer answers is an event at first and on each
    change. Two answers in a row from another server are an event, once for each server.
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
        self._attempt = attempt
        self._period = period
        self._stopped = threading.Event()
        for peer in peers:
            arguments = (peer, known[peer.task].server)
            threading.Thread(target=self._ask_on, args=arguments, daemon=True).start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, known: str) -> None:
        # The last knowledge may be of a question that failed while training began.
        silent: bool | None = None
        strange, pause = 0, self._period
        while not self._stopped.wait(pause):
            pause = self._period
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                strange = 0
                if isinstance(silence, NoNameError):
                    pause = max(pause, ABSENT_SECONDS)
                if not silent:
                    silent = True
                    gone = Health(False, None, "", "", reason=str(silence))
                    self._inbox.put(PeerSeen(self._child, peer.task, gone))
                continue
            if silent is not False:
                silent = False
                self._inbox.put(PeerSeen(self._child, peer.task, health))
            ours = (health.task, health.attempt) == (peer.task, self._attempt)
            strange = strange + 1 if ours and health.serving and health.server != known else 0
            if strange >= LOOKS:
                known, strange = health.server, 0
                self._inbox.put(PeerReplaced(self._child, peer.task))
