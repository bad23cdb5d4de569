"""Errors with a code, as the true server gives them by gRPC, by REST and in a model's status."""

from __future__ import annotations

from dataclasses import dataclass

CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
# model_servers/http_server.cc, ToHTTPStatusCode
_HTTP = {
    "OK": 200,
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": 401,
}
_GRPC_LIMIT = 1024  # characters of a gRPC error (model_servers/grpc_status_util.cc)


@dataclass(eq=False)
class StatusError(Exception):
    """What went wrong: the code's name, and the words for whoever asked."""

    code: str
    words: str

    def __str__(self) -> str:
        return f"{self.code}: {self.words}"

    @property
    def number(self) -> int:
        """The code's number in gRPC and in StatusProto."""
        return CODES.index(self.code)

    @property
    def http(self) -> int:
        """The status code of a REST answer."""
        return _HTTP.get(self.code, 500)

    @property
    def short(self) -> str:
        """The words as gRPC carries them."""
        return self.words if len(self.words) <= _GRPC_LIMIT else f"{self.words[:1024]}...TRUNCATED"


def invalid(words: str) -> StatusError:
    """An error of whoever asked."""
    return StatusError("INVALID_ARGUMENT", words)
