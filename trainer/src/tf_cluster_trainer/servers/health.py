"""Two checks of a TensorFlow server; they differ while a process is dying."""

from __future__ import annotations

import socket

import grpc

CONNECT_SECONDS = 1.0
GET_STATUS = "/tensorflow.WorkerService/GetStatus"


def accepts_connections(address: str) -> bool:
    """Whether something accepts connections at host:port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def responds(address: str) -> bool:
    """Whether the TensorFlow server at host:port answers."""
    return incarnation(address) is not None


def incarnation(address: str) -> bytes | None:
    """The server's devices, each with a random number of its process; None if it does not answer.

    The kernel accepts connections for a killed process until all its memory is freed, and for a
    frozen one. So this asks the same question as TensorFlow asks, without a deadline, when it
    connects.
    """
    if not accepts_connections(address):  # far cheaper than a channel
        return None
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        get_status: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_STATUS)
        try:
            return get_status(b"", timeout=CONNECT_SECONDS)
        except grpc.RpcError:
            return None
