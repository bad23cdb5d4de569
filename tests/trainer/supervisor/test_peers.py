"""Who answers at an address: the task that is meant, nobody, or another program."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterable

import pytest
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, answers_as, ask

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def answering(parts: Iterable[bytes], pause: float = 0.0) -> str:
    """The address of a server that sends these to its one client, as long as that listens."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server, contextlib.suppress(OSError):
            client, _ = server.accept()
            with client:
                client.recv(4096)
                for part in parts:
                    client.sendall(part)
                    time.sleep(pause)

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_task_answers_for_its_own_pod_alone() -> None:
    assert answers_as(answering([HEAD, b'{"pod": "a"}']), "a")
    assert not answers_as(answering([HEAD, b'{"pod": "a"}']), "b")


@pytest.mark.parametrize("address", ["", "None", "host", "host:", "host:port", "a b:80", "x:99999"])
def test_nobody_answers_where_no_address_is(address: str) -> None:
    assert not answers_as(address, "a")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"[" * 100_000, b"\xff"])
def test_another_program_is_not_the_task(body: bytes) -> None:
    with pytest.raises(NoAnswerError, match="something else answers at"):
        ask(answering([HEAD, body]), "/healthz")


def test_an_answer_without_an_end_is_not_read_to_the_end() -> None:
    sent = 0

    def endless() -> Iterable[bytes]:
        nonlocal sent
        yield HEAD
        while sent < 256 << 20:
            sent += 1 << 16
            yield b" " * (1 << 16)

    with pytest.raises(NoAnswerError, match="something else answers at"):
        ask(answering(endless()), "/healthz")
    assert sent < 64 << 20


def test_an_answer_that_drips_is_given_up() -> None:
    began = time.monotonic()
    drops = itertools.chain([HEAD], itertools.repeat(b" ", 100))
    with pytest.raises(NoAnswerError, match="no answer within"):
        ask(answering(drops, pause=0.1), "/healthz", timeout=0.2)
    assert time.monotonic() - began < 5.0
