"""What other tasks say of themselves: their status ports asked, failures put into words."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..config import Cluster
from .events import Inbox, PeersChanged

TIMEOUT_SECONDS = 2.0
QUICK_SECONDS, QUICK_PERIOD, SLOW_PERIOD = 60.0, 0.2, 1.0


class NoAnswerError(Exception):
    """A task could not be asked; the message is the reason in words."""


def ask(address: str, path: str, timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """The JSON object at http://<address><path>. Proxies are not for us and are not used."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise NoAnswerError(f"something else answers at {address} (HTTP {response.status})")
        document = json.loads(body)
    except socket.gaierror:
        raise NoAnswerError("its name does not resolve (no pod yet?)") from None
    except ConnectionRefusedError:
        raise NoAnswerError("refuses connections (not started yet, or gone)") from None
    except TimeoutError:
        raise NoAnswerError(f"no answer within {timeout:g} s") from None
    except (ConnectionError, http.client.HTTPException):
        raise NoAnswerError("hung up without an answer (just starting, or ending)") from None
    except OSError as error:
        raise NoAnswerError(getattr(error, "strerror", None) or repr(error)) from None
    except ValueError:
        raise NoAnswerError(f"something else answers at {address} (not JSON)") from None
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise NoAnswerError(f"something else answers at {address} (not a status)")
    return document


@dataclass(frozen=True)
class Peer:
    """A task that the chief waits for, and the address of its status port."""

    task: str
    address: str

    @property
    def host(self) -> str:
        """Its host's name."""
        return self.address.rsplit(":", 1)[0]


@dataclass(frozen=True)
class Health:
    """What /healthz of a peer said last, or why it said nothing."""

    serving: bool
    epoch: str | None
    attempt: str
    task: str
    reason: str | None = None


NOT_ASKED = Health(False, None, "", "", "not asked yet")


def health_of(document: Mapping[str, Any]) -> Health:
    """/healthz as data."""
    return Health(
        serving=bool(document.get("serving")),
        epoch=document.get("epoch"),
        attempt=str(document.get("attempt", "")),
        task=str(document.get("task", "")),
    )


def peers_of(cluster: Cluster) -> tuple[Peer, ...]:
    """Everyone the chief waits for: every ps and every worker."""
    return tuple(
        Peer(f"{kind}-{index}", address)
        for kind in ("ps", "worker")
        for index, address in enumerate(cluster.status.get(kind, ()))
    )


class Watch:
    """Asks every peer again and again, a thread each, until stopped."""

    def __init__(self, peers: Iterable[Peer], inbox: Inbox) -> None:
        self._inbox = inbox
        self._seen: dict[str, Health] = {peer.task: NOT_ASKED for peer in peers}
        self._stopped = threading.Event()
        for peer in peers:
            threading.Thread(target=self._ask_on, args=(peer,), daemon=True).start()

    def seen(self) -> dict[str, Health]:
        """What is known of each peer now."""
        return dict(self._seen)

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def _ask_on(self, peer: Peer) -> None:
        quick_until = time.monotonic() + QUICK_SECONDS
        while not self._stopped.is_set():
            try:
                health = health_of(ask(peer.address, "/healthz"))
            except NoAnswerError as silence:
                health = Health(False, None, "", "", str(silence))
            if health != self._seen[peer.task]:
                self._seen[peer.task] = health
                self._inbox.put(PeersChanged())
            quick = time.monotonic() < quick_until
            self._stopped.wait(QUICK_PERIOD if quick else SLOW_PERIOD)
