"""The errors of a source, by whether another try may help."""

from __future__ import annotations

import ssl


class SourceError(Exception):
    """The source is not as described, or can't be used; the message says why. Exit code 2."""


class UnreachableError(Exception):
    """The fetch failed this time: the network, or the server's machine. Exit code 1."""


class StoppedError(Exception):
    """The task was asked to end during the fetch."""


def of_connection(error: Exception) -> SourceError | UnreachableError:
    """Convert a connection's error: another try may help, except for an untrusted certificate."""
    cause: object = error
    while isinstance(cause, BaseException):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return SourceError(
                f"its certificate is not trusted: {cause.verify_message}. SSL_CERT_FILE in the "
                "task's environment names a file with the CAs to trust"
            )
        cause = cause.__cause__ or next(iter(cause.args), None)
    return UnreachableError(str(getattr(error, "reason", error)) or type(error).__name__)
