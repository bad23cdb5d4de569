"""Asks the status ports of other tasks, and puts failures into words.

If a name is looked up before its pod has an address, the cluster's name servers remember it as
absent, for 30 s with CoreDNS' usual `cache 30`. So the chief asks a task by name only after that
task has asked the chief, whose status address is a Service's: that name exists before any pod. A
pod can be 10 s and more behind the others (a volume, or a kubelet that retries).

A name is looked up once, not at each question: several a second, of each task, would be most of
what a training asks the name servers.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.rules.events import PeerSeen
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health, Peer, health_of

NEWS = "/healthz?news=1"
TIMEOUT_SECONDS = 2.0  # without a byte
# A status has a few KiB and comes at once. Another program may by now have the pod's former
# address, and may send without end.
LARGEST_BYTES = 1 << 20
LONGEST_TIMEOUTS = 5
QUICK_SECONDS, QUICK_PERIOD, SLOW_PERIOD = 60.0, 0.2, 1.0
# Questions per second to all peers together, and looks whether one has contacted us.
_ASKED, _LOOKED = 200.0, 1000.0
# Seconds after we are ready before peers that never contacted us are asked too. A peer that was
# merely slow has contacted us by then.
UNANNOUNCED_SECONDS = 30.0
# How long name servers remember that a name is not there.
ABSENT_SECONDS = 30.0


class NoAnswerError(Exception):
    """A task gave no answer; the message is the reason."""


class NoNameError(NoAnswerError):
    """Its host's name does not resolve."""


@dataclass(frozen=True)
class _Place:
    """Where a task answered last, and which pod it said it is (None if it named none)."""

    ip: str
    pod: object


_places: dict[str, _Place] = {}
"""By the address that was asked. Only whole entries are put in and taken out, by any thread."""


def ask(address: str, path: str, timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """Return the JSON object at http://<address><path>, without a proxy. Raises NoAnswerError.

    `timeout` is the longest time without a byte, in seconds; the whole answer may take five times
    that. The name leads to where it led last for as long as the same pod answers there. Else it is
    looked up, and asked, at once, with as much time: the pod may be another by now, elsewhere.
    """
    host = address.rpartition(":")[0]
    place = _places.get(address)
    if place is not None and place.ip != host:
        with contextlib.suppress(NoAnswerError):
            document, ip = _ask_at(address, place.ip, path, timeout)
            if _Place(ip, document.get("pod")) == place:
                return document
        _places.pop(address, None)
    document, ip = _ask_at(address, host, path, timeout)
    _places[address] = _Place(ip, document.get("pod"))
    return document


def _ask_at(address: str, host: str, path: str, timeout: float) -> tuple[dict[str, Any], str]:
    """Ask the host in the name of the address. Returns the answer and the IP it came from."""
    port = int(address.rpartition(":")[2])
    connection = _Connection(host, port, timeout=timeout)
    try:
        connection.connect()
        ip: str = connection.sock.getpeername()[0]
        connection.request("GET", path, headers={"Host": address})
        response = connection.getresponse()
        body = _read(response, time.monotonic() + LONGEST_TIMEOUTS * timeout)
        if response.status != 200:
            raise NoAnswerError(f"something else answers at {address} (HTTP {response.status})")
        document = json.loads(body)
    except socket.gaierror:
        raise NoNameError("its name does not resolve (no pod yet?)") from None
    except ConnectionRefusedError:
        raise NoAnswerError("refuses connections (not started yet, or gone)") from None
    except TimeoutError:
        raise NoAnswerError(f"no answer within {timeout:g} s") from None
    except (ConnectionError, http.client.HTTPException):
        raise NoAnswerError("hung up without an answer (just starting, or ending)") from None
    except OSError as error:
        raise NoAnswerError(getattr(error, "strerror", None) or repr(error)) from None
    except (ValueError, RecursionError):
        raise NoAnswerError(f"something else answers at {address} (not JSON)") from None
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise NoAnswerError(f"something else answers at {address} (not a status)")
    return document, ip


class _Connection(http.client.HTTPConnection):
    """Its host is looked up for IPv4 alone, on which status ports listen.

    For both kinds of addresses, as `create_connection` does, would be two questions to the name
    server.
    """

    def connect(self) -> None:
        """Connect to the first of the host's addresses that takes it. Raises OSError."""
        refused: OSError | None = None
        for ip in _addresses(self.host):
            try:
                self.sock = socket.create_connection((ip, self.port), self.timeout)
            except OSError as error:
                refused = error
            else:
                return
        raise refused or socket.gaierror(socket.EAI_NONAME, "no address")


def _addresses(host: str) -> list[str]:
    """The IPv4 addresses of a host, each once. Raises socket.gaierror."""
    found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


def _read(response: http.client.HTTPResponse, until: float) -> bytes:
    """Read the body. Raises TimeoutError at `until` (monotonic), ValueError if it is no status."""
    body = b""
    while part := response.read1(LARGEST_BYTES):
        body += part
        if len(body) > LARGEST_BYTES:
            raise ValueError("too large for a status")
        if time.monotonic() > until:
            raise TimeoutError
    return body


def answers_as(address: str, pod_uid: str) -> bool:
    """Whether this pod's task answers at the status port; False if that is no host:port."""
    try:
        return ask(address, "/healthz").get("pod") == pod_uid
    except (NoAnswerError, ValueError, http.client.InvalidURL):
        return False


def tell_news(peers: Iterable[Peer]) -> None:
    """Ask each peer to poll us at once; an unreachable one polls a little later by itself."""

    def tell(peer: Peer) -> None:
        with contextlib.suppress(NoAnswerError):
            ask(peer.address, NEWS)

    for peer in peers:
        threading.Thread(target=tell, args=(peer,), daemon=True).start()


class Watch:
    """Polls every peer, each in a thread, until stopped.

    It polls for the child with this number, at `path`. `announced` returns whether a task has
    contacted us.
    """

    def __init__(
        self,
        peers: Iterable[Peer],
        inbox: Inbox,
        *,
        child: int,
        path: str = "/healthz",
        announced: Callable[[str], bool],
    ) -> None:
        self._inbox = inbox
        self._child = child
        self._path = path
        self._announced = announced
        self._seen: dict[str, Health] = {peer.task: NOT_ASKED for peer in peers}
        self._stopped = threading.Event()
        self._unannounced_at: float | None = None
        self._least = len(self._seen) / _ASKED
        self._look_period = max(QUICK_PERIOD / 2, len(self._seen) / _LOOKED)
        for peer in peers:
            threading.Thread(target=self._ask_on, args=(peer,), daemon=True).start()

    def seen(self) -> dict[str, Health]:
        """The present knowledge of each peer."""
        return dict(self._seen)

    def hurry(self) -> None:
        """We are ready: after a while also poll peers that have not contacted us."""
        if self._unannounced_at is None:
            self._unannounced_at = time.monotonic() + UNANNOUNCED_SECONDS

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_on(self, peer: Peer) -> None:
        self._wait_for(peer, self._is_due)
        quick_until = time.monotonic() + QUICK_SECONDS
        while not self._stopped.is_set():
            again_at = 0.0
            try:
                health = health_of(ask(peer.address, self._path))
            except NoAnswerError as silence:
                health = Health(False, None, "", "", reason=str(silence))
                if isinstance(silence, NoNameError):
                    again_at = time.monotonic() + ABSENT_SECONDS
            if self._stopped.is_set():
                return  # the guard's word is the last one
            if health != self._seen[peer.task]:
                self._seen[peer.task] = health
                self._inbox.put(PeerSeen(self._child, peer.task, health))
            quick = time.monotonic() < quick_until
            self._stopped.wait(max(QUICK_PERIOD if quick else SLOW_PERIOD, self._least))
            self._wait_for(peer, partial(_has_come, again_at))

    def _is_due(self) -> bool:
        return self._unannounced_at is not None and time.monotonic() >= self._unannounced_at

    def _wait_for(self, peer: Peer, due: Callable[[], bool]) -> None:
        while not (self._stopped.is_set() or self._announced(peer.task) or due()):
            self._stopped.wait(self._look_period)


def _has_come(moment: float) -> bool:
    return time.monotonic() >= moment
