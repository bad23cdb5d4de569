"""While training runs: does every peer still run the server that the chief's child is connected to?

A server that is replaced closes its connections as a rule, and the child notices. One that goes
with its node does not: the child would wait for its answer for ever, while its successor knows
nothing of this child.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.ask import ABSENT_SECONDS, NoAnswerError, NoNameError, ask
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer, health_of
from tf_cluster_trainer.supervisor.rules.guard import Guarded, look


class PeerGuard:
    """Asks every peer which server it runs, slowly, a thread each, until stopped.

    `known` is what each said when training began. It asks without naming an epoch: that would tell
    a ps to take it. What follows from the answers is rules/guard.py's.
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
        self._period = period
        self._stopped = threading.Event()
        for peer in peers:
            guarded = Guarded(peer.task, attempt, known[peer.task].server)
            threading.Thread(target=self._ask_on, args=(peer, guarded), daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, guarded: Guarded) -> None:
        pause = self._period
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
