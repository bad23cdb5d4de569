"""While training runs: does every peer still run the server that the chief's child is connected to?

A server that is replaced closes its connections as a rule, and the child notices. One that goes
with its node does not: the child would wait for its answer for ever, while its successor knows
nothing of this child.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from .events import Inbox, PeerReplaced
from .peers import ABSENT_SECONDS, Health, NoAnswerError, NoNameError, Peer, ask, health_of

LOOKS = 2


class PeerGuard:
    """Asks every peer which server it runs, slowly, a thread each, until stopped.

    `known` is what each said when training began. It asks without naming an epoch: that would tell
    a ps to take it. Silence proves nothing. Two answers in a row of another server are an event,
    once for each server.
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
        """Ask no more."""
        self._stopped.set()

    def _ask_on(self, peer: Peer, known: str) -> None:
        strange, pause = 0, self._period
        while not self._stopped.wait(pause):
            pause = self._period
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                strange = 0
                if isinstance(silence, NoNameError):
                    pause = max(pause, ABSENT_SECONDS)
                continue
            ours = (health.task, health.attempt) == (peer.task, self._attempt)
            strange = strange + 1 if ours and health.serving and health.server != known else 0
            if strange >= LOOKS:
                known, strange = health.server, 0
                self._inbox.put(PeerReplaced(self._child, peer.task))


class Replaced:
    """Workers of an asynchronous run that were replaced and have made no step since.

    That alone is nothing: the child takes them back, and others go on. But when nobody makes a step
    the child waits for a server that is gone.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`patience`: seconds without any step, at least."""
        self._patience = patience
        self._longest = 0.0  # between two steps that were heard of
        self._clock = clock
        self._moved_at = self._noted_at = clock()
        self._made: Mapping[str, int] | None = None
        self._stepping = False
        self._since: dict[str, int] = {}

    def note(self, task: str) -> None:
        """`worker-1` was replaced just now: from now on the child can take it back."""
        self._since[task] = self._of(task)
        self._noted_at = self._clock()

    def hear(self, made: Mapping[str, int]) -> None:
        """Steps of each worker, by its index, as the child reports them."""
        if made != self._made:
            now = self._clock()
            if self._stepping:
                self._longest = max(self._longest, now - self._moved_at)
            # The first report has no step, and the first step comes after loading and compiling.
            self._stepping = self._made is not None
            self._made, self._moved_at = dict(made), now
        self._since = {
            task: steps for task, steps in self._since.items() if self._of(task) == steps
        }

    def overdue(self) -> list[str]:
        """The tasks that hold up everything; none while steps are made."""
        if self._clock() - max(self._moved_at, self._noted_at) < self.patience:
            return []
        return sorted(self._since)

    @property
    def patience(self) -> float:
        """Seconds without any step, after which it is not waited any longer.

        A training whose calls are long has shown that it may take that long.
        """
        return max(self._patience, 2 * self._longest)

    def _of(self, task: str) -> int:
        return (self._made or {}).get(task.partition("-")[2], 0)
