"""The standard streams, which may be closed, full, or read by nobody."""

import io
import os
import sys
from contextlib import suppress

from tf_cluster.exits import RefusedError


class GoneError(RefusedError):
    """The reader of standard output is gone, so nothing is left to say."""


class _Data(io.TextIOWrapper):
    """Standard output in UTF-8, whatever the locale; an error ends the command."""

    def write(self, text: str) -> int:
        """Write, or raise RefusedError."""
        try:
            return super().write(text)
        except OSError as error:
            raise _refused(error) from error

    def flush(self) -> None:
        """Write what is left, or raise RefusedError."""
        try:
            super().flush()
        except OSError as error:
            raise _refused(error) from error


class _Words(io.TextIOWrapper):
    """Standard error: what is told is seen at once, and write errors are ignored."""

    def write(self, text: str) -> int:
        """Write if it can be done."""
        with suppress(OSError):
            super().write(text)
            super().flush()
        return len(text)

    def flush(self) -> None:
        """Write what is left if it can be done."""
        with suppress(OSError):
            super().flush()


def use_streams() -> None:
    """Put streams in place that keep these promises.

    Closed numbers are opened on /dev/null: else Python would print errors on standard output, and
    the next file to be opened would get such a number.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # reading or writing there fails, as on a closed stream
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = _Data(_buffer(1), encoding="utf-8", errors="backslashreplace")
    sys.stderr = _Words(_buffer(2), encoding="utf-8", errors="backslashreplace")


def _buffer(number: int) -> io.BufferedWriter:
    return io.BufferedWriter(io.FileIO(number, "w", closefd=False))


def _refused(error: OSError) -> RefusedError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the flush at exit does not fail again
    if isinstance(error, BrokenPipeError):
        return GoneError("nobody reads standard output")
    return RefusedError(f"standard output can't be written: {error.strerror}")
