"""How a worker reacts to lost sessions, and what it logs while no step is made."""

from __future__ import annotations

import time
from collections.abc import Callable

from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.strategies.between_graph.session import ps_are_lost

SAY_AFTER_SECONDS = 5.0
SAY_AGAIN_SECONDS = 30.0
# This many sessions in a row may be lost without a step. A ps that dies of every fill, or a program
# error that looks like a loss, must not be retried without end.
LOST_SESSIONS = 20


class Outage:
    """The time from a lost session to the next step."""

    def __init__(
        self,
        step: int,
        absent: Callable[[str], list[str]],
        lost: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`step` is the run's step now. `absent` returns the tasks of a type that do not respond.
        `lost` is called with the name of each lost ps.
        """
        self._step = step
        self._absent = absent
        self._lost = lost
        self._clock = clock
        self._is_on = False
        self._lost_sessions = 0
        self._moved_at = clock()
        self._said_at = float("-inf")

    def call_ended(self, step: int) -> None:
        """Note that a call ended with the run at this step, which may be unchanged."""
        if step == self._step:
            return
        self._step, self._moved_at = step, self._clock()
        self._lost_sessions = 0
        if self._is_on:
            self._is_on = False
            log(f"goes on; the run is at step {step}")

    def session_lost(self, error: BaseException) -> None:
        """Note that this error ended a session. Raises PeerLostError after too many in a row."""
        self._lost_sessions += 1
        if self._lost_sessions > LOST_SESSIONS:
            raise PeerLostError(
                f"{LOST_SESSIONS} sessions in a row were lost without a step; the last by {error}"
            ) from error
        if self._is_on:
            return
        self._is_on = True
        absent = self._absent("ps")
        for task in absent:
            self._lost(task)
        log(f"{ps_are_lost(absent)} ({type(error).__name__}); this worker stays and waits", WARNING)

    def say_who_is_awaited(self, *, is_chief: bool, lockstep: bool, ready: bool) -> None:
        """If no step was made for a while, log now and then whom this worker waits for."""
        now = self._clock()
        since_step, since_said = now - self._moved_at, now - self._said_at
        if since_step < SAY_AFTER_SECONDS or since_said < SAY_AGAIN_SECONDS:
            return
        self._said_at = now
        kinds = ("ps", "worker") if lockstep else ("ps",)
        names = [name for kind in kinds for name in self._absent(kind)]
        if names:
            log(f"waiting for {' and '.join(names)}")
        elif lockstep or not ready:
            log("waiting for the other workers" if is_chief else "waiting for worker-0")
        else:
            log("a call takes long; every ps answers")
