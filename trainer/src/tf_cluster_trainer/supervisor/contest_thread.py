"""The contest for the run, stepped by a thread so that renewals never wait for anything else."""

from __future__ import annotations

import threading

from .contest import Contest, Owning, Standing
from .events import Inbox, StandingChanged


class ContestThread:
    """Steps a contest, once a period as the owner and three times as often as a candidate."""

    def __init__(self, contest: Contest, period: float, inbox: Inbox) -> None:
        self._contest = contest
        self._period = period
        self._inbox = inbox
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._last: Standing | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def look(self) -> Standing:
        """Step now: where do we stand?"""
        with self._lock:
            return self._contest.step()

    def release(self, *, superseded: bool) -> None:
        """Stop renewing, and let the run go if it is ours."""
        self._stopped.set()
        with self._lock:
            self._contest.release(superseded=superseded)

    def _run(self) -> None:
        while not self._stopped.is_set():
            with self._lock:
                if self._stopped.is_set():
                    return
                standing = self._contest.step()
            if standing != self._last:
                self._last = standing
                self._inbox.put(StandingChanged(standing))
            owning = isinstance(standing, Owning)
            self._stopped.wait(self._period if owning else self._period / 3)
