"""Becoming and staying the run's one writer (docs/formats.md, "One writer a run").

A contest is stepped, once a period, by whoever holds it. Time is the stepper's monotonic clock: no
clock of another machine is compared with ours. Two candidates that replace owner.json at the same
moment are told apart by the next step: the last one stays, and a loser has written nothing,
because the owner is read again before every write.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..run_directory import owner as files
from ..run_directory.owner import Owner, OwnerUnreadableError, Successor

STILL_PERIODS = 3
# After so many without a renewal the owner is asked: an answer has time to come until the third.
ASKED_PERIODS = 2
_SAME_MOMENT = "another chief took the run at the same moment"


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


class Contest:
    """One chief's part in the contest for one run directory."""

    def __init__(
        self,
        run_dir: Path,
        me: Owner,
        *,
        period: float,
        patience: float,
        answers: Callable[[Owner], bool],
        clock: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        """`answers` asks an owner's own supervisor whether it lives. That holds a candidate off for
        `patience` seconds at most, in which the owner's disk takes no renewal.
        """
        self._run_dir = run_dir
        self._me = me
        self._period = period
        self._patience = patience
        self._answers = answers
        self._answered = -math.inf
        self._asked_after: object = None  # the renewal that the owner was last asked after
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

    def step(self) -> Standing:
        """Look at the files, do what is due, say where we stand. What lost the run stays so."""
        if self._over is not None:
            return self._over
        try:
            standing = self._renew() if self._owning else self._apply()
        except OSError as error:
            # A full or stumbling disk: what others wrote still holds, and so does what we wrote.
            self._say_once(f"can't keep {self._run_dir / files.OWNER_FILE}: {error}; trying again")
            if self._owning:
                return Owning(self._waiting_all_the_same())
            return Candidate(f"can't read or write: {error}")
        self._owning = isinstance(standing, Owning)
        if isinstance(standing, Superseded | Lost):
            self._over = standing
        return standing

    def release(self, *, superseded: bool) -> None:
        """Let the run go, if it is still ours. Nothing is written when it is not."""
        if not self._owning:
            return
        self._owning = False
        try:
            owner = files.read_owner(self._run_dir)
            if owner is None or not self._is_me(owner):
                return
            gone = (*owner.superseded, self._me.job_uid) if superseded else owner.superseded
            free = replace(owner, released=True, superseded=gone)
            files.replace_owner(self._run_dir, free, still=self._still_ours)
        except (OSError, OwnerUnreadableError) as error:
            self._say(f"can't release the run: {error}; the next owner waits a few seconds longer")

    def _renew(self) -> Standing:
        try:
            owner = files.read_owner(self._run_dir)
        except OwnerUnreadableError as error:
            return Lost(f"the owner file was overwritten by something else: {error}")
        if owner is None:
            return Lost(f"{self._run_dir / files.OWNER_FILE} is gone: was the run removed?")
        if not self._is_me(owner):
            if owner.job_uid == self._me.job_uid:
                return Lost("another pod of this Job has taken the run over")
            if owner.job_uid in self._me.superseded:
                self._say(f"a late write of attempt {owner.attempt} landed on ours: taking it back")
                counter = max(owner.counter, self._me.counter)
                return self._take(replace(self._me, counter=counter))
            return Superseded(f"attempt {owner.attempt} has taken the run over")
        renewed = replace(owner, counter=owner.counter + 1, released=False)
        if not files.replace_owner(self._run_dir, renewed, still=self._still_ours):
            return self._renew()  # taken from us while the disk kept us: look again
        self._me = renewed
        self._trouble = ""
        successor = self._other_successor(owner)
        return Owning(successor.attempt if successor else None)

    def _apply(self) -> Standing:
        try:
            owner = files.read_owner(self._run_dir)
        except OwnerUnreadableError as error:
            # Only an owner that is gone leaves it so: a living one writes it anew every period.
            if not self._stands_still(str(error)):
                return Candidate(f"the owner file can't be understood ({error}); watching it")
            self._say(f"replacing an owner file that nobody keeps: {error}")
            return self._take(self._first(self._successor()))
        if owner is None:
            other = self._successor()
            if other and other.job_uid != self._me.job_uid and not self._stands_still(other):
                # Alive it creates the file itself: it looks every second.
                return Candidate(f"there is no owner file; attempt {other.attempt} may write it")
            created = files.create_owner(self._run_dir, self._first(other))
            return self._checked() if created else Candidate(_SAME_MOMENT)
        if self._me.job_uid in owner.superseded:
            return Superseded("another attempt took this run over from this one before")
        if owner.job_uid == self._me.job_uid:
            ours = replace(self._me, counter=owner.counter, superseded=owner.superseded)
            return self._take(ours)
        successor = self._successor()
        mine = successor is not None and successor.job_uid == self._me.job_uid
        if not mine:
            if successor is not None and self._me.job_uid in successor.superseded:
                return Superseded(f"attempt {successor.attempt} waits for the run in this place")
            if self._posted and successor is not None:
                return Superseded("another attempt was posted as successor after this one")
            successor = self._post(owner, successor)
        self._posted = True
        if owner.released or self._is_silent(owner):
            gone = {*owner.superseded, *(successor.superseded if successor else ()), owner.job_uid}
            if not owner.released:
                self._say(f"attempt {owner.attempt} has stopped renewing: taking the run over")
            return self._take(
                replace(
                    self._me,
                    counter=owner.counter,
                    superseded=tuple(sorted(gone)),
                )
            )
        late = self._late() >= STILL_PERIODS * self._period
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

    def _post(self, owner: Owner, before: Successor | None) -> Successor:
        gone: tuple[str, ...] = ()
        if before is not None and before.job_uid != owner.job_uid:
            gone = (*before.superseded, before.job_uid)
        successor = Successor(self._me.job_uid, self._me.pod_uid, self._me.attempt, gone)
        files.post_successor(self._run_dir, successor)
        return successor

    def _take(self, owner: Owner) -> Standing:
        taken = replace(owner, counter=owner.counter + 1, released=False)
        files.replace_owner(self._run_dir, taken)
        return self._checked()

    def _checked(self) -> Standing:
        """What the file says now that we wrote it: somebody may have written it since."""
        owner = files.read_owner(self._run_dir)
        if owner is None or not self._is_me(owner):
            return Candidate(_SAME_MOMENT)
        self._me = owner
        successor = self._other_successor(owner)
        return Owning(successor.attempt if successor else None)

    def _other_successor(self, owner: Owner) -> Successor | None:
        successor = self._successor()
        if successor is None or successor.job_uid in (self._me.job_uid, *owner.superseded):
            return None
        return successor

    def _successor(self) -> Successor | None:
        try:
            return files.read_successor(self._run_dir)
        except OwnerUnreadableError as error:
            self._say_once(f"{error}; read as absent")
            return None

    def _waiting_all_the_same(self) -> str | None:
        """The attempt that waits, for an owner that can't write: the run is not kept from it."""
        try:
            successor = self._other_successor(self._me)
        except OSError:
            return None
        return successor.attempt if successor else None

    def _is_silent(self, owner: Owner) -> bool:
        """Whether the owner has shown no sign of life for three periods: no renewal, no answer.

        A save can keep its disk from renewals, and it lives all the same.
        """
        self._watch((owner.job_uid, owner.pod_uid, owner.counter))
        renewal, _ = self._watched
        # Asked once at least: who was stopped together with the owner sees no renewal at first.
        ask = self._late() < self._patience or renewal != self._asked_after
        if ask and self._late() >= ASKED_PERIODS * self._period:
            self._asked_after = renewal
            if self._answers(owner):
                self._answered = self._clock()
        since = max(self._watched[1], self._answered)
        return self._clock() - since >= STILL_PERIODS * self._period

    def _stands_still(self, seen: object) -> bool:
        self._watch(seen)
        return self._late() >= STILL_PERIODS * self._period

    def _watch(self, seen: object) -> None:
        if self._watched[0] != seen:
            self._watched = (seen, self._clock())

    def _late(self) -> float:
        """Seconds without a change of what is watched."""
        return self._clock() - self._watched[1]

    def _still_ours(self) -> bool:
        return files.owns(self._run_dir, self._me.job_uid, self._me.pod_uid)

    def _is_me(self, owner: Owner) -> bool:
        return (owner.job_uid, owner.pod_uid) == (self._me.job_uid, self._me.pod_uid)

    def _say_once(self, message: str) -> None:
        if message != self._trouble:
            self._trouble = message
            self._say(message)
