"""Becoming and staying the run's one writer (docs/formats.md, "One writer a run").

An election is stepped, once a period, by whoever holds it. A step is a generator: it yields what it
has to know or to write, one operation at a time, and gets the result sent, or an OSError thrown, as
its holder's disk has it. Time is the holder's monotonic clock: no clock of another machine is
compared with ours. Two candidates that replace owner.json at the same moment are told apart by the
next step: the last one stays, unless it is an earlier attempt, and a loser has written nothing,
because the owner is read again before every write.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster_trainer.run_directory.owner import Owner, OwnerUnreadableError, Successor
from tf_cluster_trainer.supervisor.rules import arrivals
from tf_cluster_trainer.supervisor.rules.arrivals import ReadArrivals
from tf_cluster_trainer.supervisor.rules.standing import (
    Candidate,
    Lost,
    Owning,
    Standing,
    Superseded,
)

LEASE_PERIODS = 3
# After so many without a renewal the owner is asked: an answer has time to come until the third.
ASKED_PERIODS = 2
_SAME_MOMENT = "another chief took the run at the same moment"


@dataclass(frozen=True)
class ReadOwner:
    """Gives owner.json as an Owner, None when there is none; OwnerUnreadableError is thrown."""


@dataclass(frozen=True)
class ReadSuccessor:
    """Gives successor.json as a Successor, None when there is none, and throws likewise."""


@dataclass(frozen=True)
class CreateOwner:
    """Write owner.json if there is none; gives whether it was written."""

    owner: Owner


@dataclass(frozen=True)
class ReplaceOwner:
    """Write owner.json in place of the one that is there; gives whether it was written.

    `over`: between the fsync, which a bad disk can hold up for long, and the rename owner.json is
    read once more, and nothing is written where it is not this one any more. None: where nobody
    can understand it.
    """

    owner: Owner
    over: Owner | None


@dataclass(frozen=True)
class PostSuccessor:
    """Write successor.json in place of the one that is there."""

    successor: Successor


@dataclass(frozen=True)
class AskOwner:
    """Gives whether this owner's own supervisor answers at its status port."""

    owner: Owner


Operation = (
    ReadOwner | ReadSuccessor | ReadArrivals | CreateOwner | ReplaceOwner | PostSuccessor | AskOwner
)


class Election:
    """One chief's part in the election for one run directory."""

    def __init__(
        self,
        me: Owner,
        *,
        period: float,
        patience: float,
        place: str,
        clock: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        """`period`: seconds between two renewals; `place`: what owner.json is called for people.

        An owner that answers holds a candidate off for `patience` seconds at most, in which its
        disk takes no renewal.
        """
        self._me = me
        self._period = period
        self._patience = patience
        self._answered = -math.inf
        self._asked_after: object = None  # the renewal that the owner was last asked after
        self._place = place
        self._clock = clock
        self._say = say
        self._owning = False
        self._over: Superseded | Lost | None = None
        self._posted = False
        self._watched: tuple[object, float] = (None, 0.0)
        self._trouble = ""

    @property
    def owning(self) -> bool:
        """Whether this process became the owner and has not heard otherwise."""
        return self._owning

    def step(self) -> Generator[Operation, Any, Standing]:
        """Look at the files, do what is due, say where we stand. What lost the run stays so."""
        if self._over is not None:
            return self._over
        try:
            standing = yield from (self._renew() if self._owning else self._apply())
        except OSError as error:
            # A full or stumbling disk: what others wrote still holds, and so does what we wrote.
            self._say_once(f"can't keep {self._place}: {error}; trying again")
            if self._owning:
                return Owning((yield from self._waiting_all_the_same()))
            return Candidate(f"can't read or write: {error}")
        self._owning = isinstance(standing, Owning)
        if isinstance(standing, Superseded | Lost):
            self._over = standing
        return standing

    def release(self, *, superseded: bool) -> Generator[Operation, Any, None]:
        """Let the run go, if it is still ours. Nothing is written when it is not."""
        if not self._owning:
            return
        self._owning = False
        try:
            owner = yield ReadOwner()
            if owner is None or not self._is_me(owner):
                return
            gone = (*owner.superseded, self._me.job_uid) if superseded else owner.superseded
            free = replace(owner, released=True, superseded=gone)
            yield ReplaceOwner(free, over=owner)
        except (OSError, OwnerUnreadableError) as error:
            self._say(f"can't release the run: {error}; the next owner waits a few seconds longer")

    def _renew(self) -> Generator[Operation, Any, Standing]:
        try:
            owner = yield ReadOwner()
        except OwnerUnreadableError as error:
            return Lost(f"the owner file was overwritten by something else: {error}")
        if owner is None:
            return Lost(f"{self._place} is gone: was the run removed?")
        if not self._is_me(owner):
            if owner.job_uid == self._me.job_uid:
                return Lost("another pod of this Job has taken the run over")
            # An earlier attempt takes no run from a later one: it did not see ours when it wrote.
            earlier = (yield from self._order(owner.job_uid)) < 0
            if owner.job_uid in self._me.superseded or earlier:
                self._say(f"a late write of attempt {owner.attempt} landed on ours: taking it back")
                counter = max(owner.counter, self._me.counter)
                return (yield from self._take(replace(self._me, counter=counter), over=owner))
            return Superseded(f"attempt {owner.attempt} has taken the run over")
        renewed = replace(owner, counter=owner.counter + 1, released=False)
        if not (yield ReplaceOwner(renewed, over=owner)):
            return (yield from self._renew())  # taken while the disk kept us: look again
        self._me = renewed
        self._trouble = ""
        successor = yield from self._other_successor(owner)
        return Owning(successor.attempt if successor else None)

    def _apply(self) -> Generator[Operation, Any, Standing]:
        try:
            owner = yield ReadOwner()
        except OwnerUnreadableError as error:
            # Only an owner that is gone leaves it so: a living one writes it anew every period.
            if not self._stands_still(str(error)):
                return Candidate(f"the owner file can't be understood ({error}); watching it")
            self._say(f"replacing an owner file that nobody keeps: {error}")
            successor = yield from self._successor()
            return (yield from self._take(self._first(successor), over=None))
        if owner is None:
            other = yield from self._successor()
            if other and other.job_uid != self._me.job_uid and not self._stands_still(other):
                # Alive it creates the file itself: it looks every second.
                return Candidate(f"there is no owner file; attempt {other.attempt} may write it")
            created = yield CreateOwner(self._first(other))
            return (yield from self._checked()) if created else Candidate(_SAME_MOMENT)
        if self._me.job_uid in owner.superseded:
            return Superseded("another attempt took this run over from this one before")
        if owner.job_uid == self._me.job_uid:
            ours = replace(self._me, counter=owner.counter, superseded=owner.superseded)
            return (yield from self._take(ours, over=owner))
        if (yield from self._order(owner.job_uid)) > 0:
            return Superseded(f"attempt {owner.attempt}, a later one, has the run")
        successor = yield from self._successor()
        mine = successor is not None and successor.job_uid == self._me.job_uid
        if not mine:
            if successor is not None and self._me.job_uid in successor.superseded:
                return Superseded(f"attempt {successor.attempt} waits for the run in this place")
            if successor is not None and (yield from self._is_after_us(successor)):
                return Superseded(f"attempt {successor.attempt}, a later one, waits for the run")
            successor = yield from self._post(owner, successor)
        self._posted = True
        if owner.released or (yield from self._is_silent(owner)):
            gone = {*owner.superseded, *(successor.superseded if successor else ()), owner.job_uid}
            if not owner.released:
                self._say(f"attempt {owner.attempt} has stopped renewing: taking the run over")
            ours = replace(self._me, counter=owner.counter, superseded=tuple(sorted(gone)))
            return (yield from self._take(ours, over=owner))
        late = self._late() >= LEASE_PERIODS * self._period
        slow = "which does not renew, but answers (a slow disk?), " if late else ""
        return Candidate(
            f"waiting for attempt {owner.attempt}, {slow}to save and hand the run over"
        )

    def _first(self, successor: Successor | None) -> Owner:
        """The owner of a run that has no owner's file any more, or never had.

        Somebody may have removed it: whoever was posted as successor is of the past then.
        """
        gone = {*successor.superseded, successor.job_uid} if successor else set()
        return replace(self._me, counter=1, superseded=tuple(sorted(gone - {self._me.job_uid})))

    def _post(self, owner: Owner, before: Successor | None) -> Generator[Operation, Any, Successor]:
        gone: tuple[str, ...] = ()
        if before is not None and before.job_uid != owner.job_uid:
            gone = (*before.superseded, before.job_uid)
        successor = Successor(self._me.job_uid, self._me.pod_uid, self._me.attempt, gone)
        yield PostSuccessor(successor)
        return successor

    def _take(self, owner: Owner, over: Owner | None) -> Generator[Operation, Any, Standing]:
        taken = replace(owner, counter=owner.counter + 1, released=False)
        if not (yield ReplaceOwner(taken, over=over)):
            return Candidate(_SAME_MOMENT)
        return (yield from self._checked())

    def _checked(self) -> Generator[Operation, Any, Standing]:
        """What the file says now that we wrote it: somebody may have written it since."""
        owner = yield ReadOwner()
        if owner is None or not self._is_me(owner):
            return Candidate(_SAME_MOMENT)
        self._me = owner
        successor = yield from self._other_successor(owner)
        return Owning(successor.attempt if successor else None)

    def _other_successor(self, owner: Owner) -> Generator[Operation, Any, Successor | None]:
        successor = yield from self._successor()
        if successor is None or successor.job_uid in (self._me.job_uid, *owner.superseded):
            return None
        # An earlier attempt that is still there, and was late, does not end a later one.
        return None if (yield from self._order(successor.job_uid)) < 0 else successor

    def _is_after_us(self, successor: Successor) -> Generator[Operation, Any, bool]:
        """Whether this one, not us, is to have the run; unknown: the one that was posted last."""
        order = yield from self._order(successor.job_uid)
        return order > 0 or (order == 0 and self._posted)

    def _order(self, job_uid: str) -> Generator[Operation, Any, int]:
        """When the chief of this Job came to the run: 1 after ours, -1 before it, 0 unknown."""
        arrived = yield ReadArrivals()
        return arrivals.order(arrived, job_uid, self._me.job_uid)

    def _successor(self) -> Generator[Operation, Any, Successor | None]:
        try:
            successor: Successor | None = yield ReadSuccessor()
        except OwnerUnreadableError as error:
            self._say_once(f"{error}; read as absent")
            return None
        return successor

    def _waiting_all_the_same(self) -> Generator[Operation, Any, str | None]:
        """The attempt that waits, for an owner that can't write: the run is not kept from it."""
        try:
            successor = yield from self._other_successor(self._me)
        except OSError:
            return None
        return successor.attempt if successor else None

    def _is_silent(self, owner: Owner) -> Generator[Operation, Any, bool]:
        """Whether the owner has shown no sign of life for three periods: no renewal, no answer.

        A save can keep its disk from renewals, and it lives all the same.
        """
        self._watch((owner.job_uid, owner.pod_uid, owner.counter))
        renewal, _ = self._watched
        # Asked once at least: who was stopped together with the owner sees no renewal at first.
        ask = self._late() < self._patience or renewal != self._asked_after
        if ask and self._late() >= ASKED_PERIODS * self._period:
            self._asked_after = renewal
            if (yield AskOwner(owner)):
                self._answered = self._clock()
        since = max(self._watched[1], self._answered)
        return self._clock() - since >= LEASE_PERIODS * self._period

    def _stands_still(self, seen: object) -> bool:
        self._watch(seen)
        return self._late() >= LEASE_PERIODS * self._period

    def _watch(self, seen: object) -> None:
        if self._watched[0] != seen:
            self._watched = (seen, self._clock())

    def _late(self) -> float:
        """Seconds without a change of what is watched."""
        return self._clock() - self._watched[1]

    def _is_me(self, owner: Owner) -> bool:
        return (owner.job_uid, owner.pod_uid) == (self._me.job_uid, self._me.pod_uid)

    def _say_once(self, message: str) -> None:
        if message != self._trouble:
            self._trouble = message
            self._say(message)
