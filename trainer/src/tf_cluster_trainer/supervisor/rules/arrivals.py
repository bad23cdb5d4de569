"""In which order the chiefs of Jobs have come to the run: attempts/ of the run directory.

A later attempt is one whose chief came later, whoever passes the gate first.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReadArrivals:
    """Gives the UIDs of the Jobs whose chiefs have come, by their numbers; OSError is thrown.

    The UID is empty where the file of a number can't be read or understood.
    """


@dataclass(frozen=True)
class PutArrival:
    """Note this Job under this number; gives whether it was: False where the number is taken."""

    number: int
    job_uid: str


Operation = ReadArrivals | PutArrival


def arrive(job_uid: str) -> Generator[Operation, Any, None]:
    """Note that the chief of this Job has come, after all that came before; once a Job.

    A number for each: of two that come at once both are noted. What was put is not read again: a
    disk that can't read it would have it put without end.
    """
    put = False
    while not put:
        arrived: Mapping[int, str] = yield ReadArrivals()
        if job_uid in arrived.values():
            return
        put = yield PutArrival(max(arrived, default=0) + 1, job_uid)


def order(arrived: Mapping[int, str], job_uid: str, ours: str) -> int:
    """When the chief of this Job came to the run: 1 after ours, -1 before it, 0 unknown."""
    theirs_at, ours_at = _number(arrived.items(), job_uid), _number(arrived.items(), ours)
    if theirs_at is None or ours_at is None or theirs_at == ours_at:
        return 0
    return 1 if theirs_at > ours_at else -1


def _number(arrived: Iterable[tuple[int, str]], job_uid: str) -> int | None:
    return min((number for number, job in arrived if job == job_uid), default=None)
