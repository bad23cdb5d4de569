"""What preflight answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """Whether a training fits, worst last."""

    FITS = "fits"
    CANT_SAY = "cantSay"
    DOES_NOT_FIT = "doesNotFit"


class When(str, Enum):
    """For how long something does not fit. NOT_NOW of what can't be said: it likely does not."""

    NOT_NOW = "notNow"
    """Others have what it needs; or it is missing, and may come."""
    NEVER = "never"
    """As long as the nodes, the quota or the file are as they are."""


@dataclass(frozen=True)
class Check:
    """What one look has found; `subject` is what was looked at: `nodes`, `quota`."""

    subject: str
    verdict: Verdict
    message: str
    when: When | None = None


@dataclass(frozen=True)
class Answer:
    """All checks of one training."""

    name: str
    namespace: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """That of the worst check."""
        return max((one.verdict for one in self.checks), key=list(Verdict).index)

    @property
    def when(self) -> When | None:
        """`never` where one check says so."""
        said = {one.when for one in self.checks if one.verdict is Verdict.DOES_NOT_FIT}
        return When.NEVER if When.NEVER in said else When.NOT_NOW if said else None

    @property
    def rather_not_now(self) -> bool:
        """Whether nothing says that it does not fit, but who can wait should."""
        return any(one.verdict is Verdict.CANT_SAY and one.when for one in self.checks)


def fits(subject: str, message: str) -> Check:
    """A check that found nothing wrong."""
    return Check(subject, Verdict.FITS, message)


def cant_say(subject: str, message: str) -> Check:
    """A check that does not know enough."""
    return Check(subject, Verdict.CANT_SAY, message)


def never(subject: str, message: str) -> Check:
    """What waiting does not mend."""
    return Check(subject, Verdict.DOES_NOT_FIT, message, When.NEVER)


def not_now(subject: str, message: str) -> Check:
    """What may fit later."""
    return Check(subject, Verdict.DOES_NOT_FIT, message, When.NOT_NOW)


def listed(names: Iterable[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    every = list(names)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"
