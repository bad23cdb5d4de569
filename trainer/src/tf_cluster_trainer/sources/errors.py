"""What can be wrong with a source, by whether another try may help."""

from __future__ import annotations


class SourceError(Exception):
    """The source is not what was said, or can't be used; the message says what. Exit code 2."""


class UnreachableError(Exception):
    """It could not be had this time: the network, or the machine that serves it. Exit code 1."""


class StoppedError(Exception):
    """The task was asked to end while it was fetched."""
