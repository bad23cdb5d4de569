"""How often a supervisor looks, how long its patience is: the protocol's facts, not settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds. Tests have their own; everything else uses these."""

    renewal: float = 3.0  # between two renewals of owner.json
    grace: float = 10.0  # from SIGTERM to SIGKILL, where nothing is being saved
    save: float = 600.0  # the same where the child saves: it may take long, not for ever
    worker_poll: float = 1.0  # between two looks of a worker's server at the chief
    quick_poll: float = 0.5  # the same of a ps or a worker that trains: starts wait for those
    calm_poll: float = 2.0  # of one whose server stays when the chief begins anew, while he trains
    guard: float = 5.0  # between two looks of a chief that trains at each ps and worker
    stall: float = 60.0  # without a step, before a replaced worker is held to be the reason
    steady: float = 30.0  # a server that served so long has all its restarts again
    backoff: float = 1.0  # before the second restart in a row of a server; doubles, at most 8 times
    tick: float = 0.5  # between two rounds when nothing happens
