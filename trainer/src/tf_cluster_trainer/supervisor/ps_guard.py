"""While training runs: does every ps still hold the variables of this epoch?

A ps that is replaced closes its connections as a rule, and the child notices. One that goes with
its node does not: the child would wait for it for ever, and its successor has no variables.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from .events import Inbox, PsReplaced
from .peers import ABSENT_SECONDS, NoAnswerError, NoNameError, Peer, ask, health_of

LOOKS = 2


class PsGuard:
    """Asks every ps for its epoch, slowly, a thread each, until stopped.

    It asks without naming an epoch: that would tell the ps to take it. Silence proves nothing. Two
    answers in a row that another epoch is served, or none, are an event.
    """

    def __init__(
        self,
        peers: Iterable[Peer],
        inbox: Inbox,
        *,
        child: int,
        attempt: str,
        epoch: str,
        period: float,
    ) -> None:
        self._inbox = inbox
        self._child = child
        self._attempt = attempt
        self._epoch = epoch
        self._period = period
        self._stopped = threading.Event()
        for peer in peers:
            threading.Thread(target=self._ask_on, args=(peer,), daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def _ask_on(self, peer: Peer) -> None:
        strange, pause = 0, self._period
        while not self._stopped.wait(pause):
            pause = self._period
            try:
                strange = strange + 1 if self._is_strange(peer) else 0
            except NoAnswerError as silence:
                strange = 0
                if isinstance(silence, NoNameError):
                    pause = max(pause, ABSENT_SECONDS)
            if strange >= LOOKS:
                self._inbox.put(PsReplaced(self._child, peer.task))
                return

    def _is_strange(self, peer: Peer) -> bool:
        health = health_of(ask(peer.address, "/healthz"))
        ours = (health.task, health.attempt) == (peer.task, self._attempt)
        return ours and health.serving and health.epoch != self._epoch
