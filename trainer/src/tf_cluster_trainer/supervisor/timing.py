"""A supervisor's intervals and deadlines: constants of the protocol, not settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds. Tests have their own; everything else uses these."""

    renewal: float = 3.0  # between two renewals of owner.json
    grace: float = 10.0  # from SIGTERM to SIGKILL, where nothing is being saved
    save: float = 600.0  # the same where the child saves: it may take long
    worker_poll: float = 1.0  # between two polls of the chief by a worker's server
    quick_poll: float = 0.5  # the same of a ps or a worker that trains: starts wait for those
    calm_poll: float = 2.0  # of one whose server stays when the chief restarts, while it trains
    guard: float = 5.0  # between two polls of each ps and worker by a training chief
    stall: float = 60.0  # without a step, before a replaced worker counts as the reason
    steady: float = 30.0  # of service, after which a server has all its restarts again
    backoff: float = 1.0  # before the second restart in a row of a server; doubles, at most 8 times
    tick: float = 0.5  # between two looks at the clock
