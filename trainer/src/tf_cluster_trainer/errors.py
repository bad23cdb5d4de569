"""Why a child ends early. Each kind has one exit code (child/failures.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those behind it: libraries wrap one in their own."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class ProgramError(Exception):
    """The user's program or the run's data is wrong; a retry can't help."""


class HookError(ProgramError):
    """A hook of the user's program raised `cause`; the message names the hook."""

    def __init__(self, hook: str, cause: BaseException) -> None:
        self.words = f"the program failed in {hook}: {type(cause).__name__}"
        super().__init__(f"{self.words}: {cause}")
        self.cause = cause


class NotFiniteError(ProgramError):
    """The loss, or a variable, became NaN or infinite."""


class NotOwnerError(Exception):
    """Another attempt owns the run now; nothing was written."""


class ReplacedError(Exception):
    """Another pod does this task's work now; nothing was written."""


class PeerLostError(Exception):
    """A task that this one needs is gone; a new start may find it again.

    `lost` names the tasks, if they are known. None: those that do not answer; empty: no task.
    """

    def __init__(self, message: str, lost: Sequence[str] | None = None) -> None:
        super().__init__(message)
        self.lost = lost


class NotNowError(PeerLostError):
    """The run's state can't be copied now; it can after more steps."""


class SetAsideError(PeerLostError):
    """The checkpoint that was being read is damaged; a new start takes the one before."""

    def __init__(self, step: int) -> None:
        super().__init__(
            f"the checkpoint of step {step} is damaged: starting again from the one before", ()
        )


class PsVolumeError(OSError):
    """A ps can't write into the run's directory, or what it wrote is not there."""
