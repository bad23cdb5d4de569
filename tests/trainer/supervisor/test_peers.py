"""Who answers at an address: the task that is meant, nobody, or another program."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, NoNameError, answers_as, ask

from tests.ports import free_port

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def answering(parts: Iterable[bytes], pause: float = 0.0) -> str:
    """The address of a server that sends these to its one client, as long as that listens."""
    server = socket.create_server(("127.0.0.1", 0))
    _serve(server, 1, parts, pause)
    return f"127.0.0.1:{server.getsockname()[1]}"


def _serve(
    server: socket.socket, visits: int, parts: Iterable[bytes], pause: float = 0.0
) -> threading.Thread:
    def serve() -> None:
        with server, contextlib.suppress(OSError):
            for _ in range(visits):
                client, _ = server.accept()
                with client:
                    client.recv(4096)
                    for part in parts:
                        client.sendall(part)
                        time.sleep(pause)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    return serving


@dataclass
class NameServer:
    """What the resolver says of names, and what it was asked. Addresses go past it."""

    leads_to: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> NameServer:
    server, really = NameServer(), socket.getaddrinfo

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        if not host[0].isdigit():
            server.asked.append(host)
            if host not in server.leads_to:
                raise socket.gaierror("nobody")
        return really(server.leads_to.get(host, host), *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return server


def pod(uid: str, ip: str, port: int, visits: int) -> threading.Thread:
    """A task of a pod with this UID answers so many questions there, then it is gone."""
    server = socket.create_server((ip, port))
    return _serve(server, visits, [HEAD, f'{{"pod": "{uid}"}}'.encode()])


def port_of_a_pod_that_is_gone(names: NameServer) -> int:
    """The pod `a` of ps-0 answered there, at 127.0.0.1, before."""
    port = free_port()
    names.leads_to["ps-0"] = "127.0.0.1"
    gone = pod("a", "127.0.0.1", port, visits=1)
    assert ask(f"ps-0:{port}", "/healthz") == {"pod": "a"}
    gone.join()
    return port


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


def test_a_name_is_looked_up_once_while_its_pod_answers(names: NameServer) -> None:
    port = free_port()
    names.leads_to["ps-0"] = "127.0.0.1"
    pod("a", "127.0.0.1", port, visits=20)
    for _ in range(20):
        assert ask(f"ps-0:{port}", "/healthz") == {"pod": "a"}
    assert names.asked == ["ps-0"]


def test_a_name_is_looked_up_for_ipv4_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Status ports listen on it. Of a name that is absent one question is enough, too."""
    asked: list[socket.AddressFamily] = []

    def look_up(host: str, port: Any, family: socket.AddressFamily, *more: Any) -> Any:
        asked.append(family)
        raise socket.gaierror(socket.EAI_NONAME, "nobody")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(NoNameError):
        ask("ps-0:8080", "/healthz")
    assert asked == [socket.AF_INET]


def test_the_next_address_of_a_name_is_tried_when_the_first_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Service has the address of a pod that ends for a moment, beside the new one's."""
    port = free_port()
    really = socket.getaddrinfo

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        ips = ("127.0.0.2", "127.0.0.1") if host == "chief" else (host,)
        return [place for ip in ips for place in really(ip, *more, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    pod("a", "127.0.0.1", port, visits=1)
    assert ask(f"chief:{port}", "/healthz") == {"pod": "a"}


def test_a_pod_that_is_gone_is_looked_for_by_its_name_in_the_same_question(
    names: NameServer,
) -> None:
    port = port_of_a_pod_that_is_gone(names)
    pod("b", "127.0.0.2", port, visits=2)
    names.leads_to["ps-0"] = "127.0.0.2"
    assert ask(f"ps-0:{port}", "/healthz") == {"pod": "b"}
    assert ask(f"ps-0:{port}", "/healthz") == {"pod": "b"}
    assert names.asked == ["ps-0", "ps-0"]


def test_another_pod_with_the_address_of_one_that_is_gone_does_not_answer_for_it(
    names: NameServer,
) -> None:
    port = port_of_a_pod_that_is_gone(names)
    pod("of another release", "127.0.0.1", port, visits=1)
    pod("b", "127.0.0.2", port, visits=1)
    names.leads_to["ps-0"] = "127.0.0.2"
    assert ask(f"ps-0:{port}", "/healthz") == {"pod": "b"}


def test_a_pod_that_is_gone_with_its_name_is_told_so(names: NameServer) -> None:
    port = port_of_a_pod_that_is_gone(names)
    del names.leads_to["ps-0"]
    with pytest.raises(NoNameError):
        ask(f"ps-0:{port}", "/healthz")
