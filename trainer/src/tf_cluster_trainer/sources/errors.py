"""What can be wrong with a source, by whether another try may help."""

from __future__ import annotations

import ssl


class SourceError(Exception):
    """The source is not what was said, or can't be used; the message says what. Exit code 2."""


class UnreachableError(Exception):
    """It could not be had this time: the network, or the machine that serves it. Exit code 1."""


class StoppedError(Exception):
    """The task was asked to end while it was fetched."""


def of_connection(error: Exception) -> SourceError | UnreachableError:
    """What a connection failed of: another try may help, but finds the same certificate."""
    cause: object = error
    while isinstance(cause, BaseException):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return SourceError(
                f"its certificate is not trusted: {cause.verify_message}. SSL_CERT_FILE in the "
                "task's environment names a file with the CAs to trust"
            )
        cause = cause.__cause__ or next(iter(cause.args), None)
    return UnreachableError(str(getattr(error, "reason", error)) or type(error).__name__)
