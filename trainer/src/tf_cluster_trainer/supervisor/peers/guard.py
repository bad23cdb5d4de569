"""Checks during training that every peer still runs the server that the chief's child uses.

A replaced server usually closes its connections, and the child notices. A server that is lost with
its node does not: the child would wait for its answer without end, while the new server knows
nothing of this child.

A task that has asked the chief lately, and said that it runs the known server, need not be asked.
Each fourth round it is asked nevertheless: that it reaches us does not say that we reach it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.ask import ABSENT_SECONDS, NoAnswerError, NoNameError, ask
from tf_cluster_trainer.supervisor.rules.gate import Health, Peer, health_of
from tf_cluster_trainer.supervisor.rules.guard import Guarded, believe, look

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
        has_said: Callable[[str, str, float], bool] = lambda task, server, lately: False,
    ) -> None:
        """`has_said(task, server, seconds)`: whether the task has said, so long ago at most, that
        it runs this server.
        """
        self._inbox = inbox
        self._child = child
        self._has_said = has_said
        peers = tuple(peers)
        self._period = max(period, len(peers) / _ASKED)
        self._stopped = threading.Event()
        for peer in peers:
            guarded = Guarded(peer.task, attempt, known[peer.task].server)
            threading.Thread(target=self._ask_on, args=(peer, guarded), daemon=True).start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, guarded: Guarded) -> None:
        pause = self._period
        while not self._stopped.wait(pause):
            pause = self._period
            of_server = (peer.task, guarded.known, self._period)
            if guarded.may_be_believed and self._has_said(*of_server):
                guarded = believe(guarded)
                continue
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                health = Health(False, None, "", "", reason=str(silence))
                if isinstance(silence, NoNameError):
                    pause = max(pause, ABSENT_SECONDS)
            guarded, events = look(guarded, health, self._child)
            for event in events:
                self._inbox.put(event)
