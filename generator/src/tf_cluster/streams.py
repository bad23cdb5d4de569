"""The standard streams, which may be closed, full, or read by nobody."""

import io
import os
import sys
from contextlib import suppress

from tf_cluster.exits import RefusedError


class GoneError(RefusedError):
    """Whoever read standard output has gone: nothing more can be said there, and need be."""


class _Data(io.TextIOWrapper):
    """Standard output: UTF-8 whatever the locale says; trouble with it ends the command."""

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
    """Standard error: who does not take the words does without."""

    def write(self, text: str) -> int:
        """Write if it can be done."""
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is left if it can be done."""
        with suppress(OSError):
            super().flush()


def use_streams() -> None:
    """Put streams in place that keep these promises.

    A number that the caller closed is taken: Python would print what is for standard error on
    standard output, and the next file that is opened would be either.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # of the first nothing is read, to the second nothing goes
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = _Data(_buffer(1), encoding="utf-8", errors="backslashreplace")
    sys.stderr = _Words(_buffer(2), encoding="utf-8", errors="backslashreplace", write_through=True)


def _buffer(number: int) -> io.BufferedWriter:
    return io.BufferedWriter(io.FileIO(number, "w", closefd=False))


def _refused(error: OSError) -> RefusedError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left goes nowhere, at the end, too
    if isinstance(error, BrokenPipeError):
        return GoneError("nobody reads standard output")
    return RefusedError(f"standard output can't be written: {error.strerror}")
