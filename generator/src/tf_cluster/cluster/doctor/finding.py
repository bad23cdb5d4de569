"""What a rule is, and what it says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from tf_cluster.cluster.doctor.view import View


@dataclass(frozen=True)
class Finding:
    """What is wrong with one object of a training.

    `about` is the object, `job/digits-chief-3f2a`. `words` say what is wrong, `quote` is the event,
    condition or line that shows it, with its time `at`. `mend` is the command or the change that
    mends it.
    """

    code: str
    about: str
    words: str
    mend: str
    quote: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class Rule:
    """A kind of failure, `TFD101`, as docs/doctor.md tells of it. A code never changes its meaning.

    `about` is what is wrong in a few words; `why` is how it comes to be, `evidence` where it shows,
    and `mend` what to do.
    """

    code: str
    about: str
    why: str
    evidence: str
    mend: str
    look: Callable[[View], Iterable[Finding]]
