"""Where a chief stands in the election of the run's one writer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """Not the owner yet; `message` says whom it waits for."""

    message: str


@dataclass(frozen=True)
class Owning:
    """The one writer. `successor` is the attempt that waits to take over, if one does."""

    successor: str | None


@dataclass(frozen=True)
class Superseded:
    """Another attempt has the run, or has been chosen for it. Final for this attempt."""

    message: str


@dataclass(frozen=True)
class Lost:
    """The run was taken from this process, but not by another attempt. Not final for the Job."""

    message: str


Standing = Candidate | Owning | Superseded | Lost
