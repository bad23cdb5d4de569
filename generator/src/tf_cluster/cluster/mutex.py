"""A lock that the API server keeps: a Lease, so that one at a time looks and changes.

The holder renews it. A holder that was killed does not, and the next one takes it over. Clocks are
not compared: a waiter measures by its own clock how long the Lease has not changed.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from random import uniform
from typing import Any
from uuid import uuid4

import httpx2

from tf_cluster.cluster.connection import AbsentError, ClusterError, Connection
from tf_cluster.exits import RefusedError

NAME = "tf-cluster-submit"
SECONDS = 30
"""How long a Lease that nobody renews is another's."""
RENEW_SECONDS = 10.0
SURE_SECONDS = 24.0
"""So long after a renewal was asked for, its holder is sure to have it. Others wait for SECONDS."""
_AGAIN_SECONDS, _ANSWER_SECONDS = 1.0, 3.0
_LOOK_SECONDS = (1.0, 2.0)
"""A waiter looks after so long, drawn at random between the two."""
_CONFLICT = 409


class LostError(ClusterError):
    """The lock could not be renewed: another may hold it now."""


class Mutex:
    """The lock while it is held."""

    def __init__(self, connection: Connection, namespace: str, name: str = NAME) -> None:
        self._connection = connection
        self._name = name
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._where = f"lease {name} in namespace {namespace}"
        pid, host = os.getpid(), socket.gethostname()
        self.holder = f"{host}:{pid}:{uuid4().hex[:8]}"
        self._lease: dict[str, Any] = {}
        self._renewed = time.monotonic()
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._renewer = threading.Thread(target=self._keep, name="lease", daemon=True)

    @property
    def is_lost(self) -> bool:
        """Whether another may hold it now: it was taken, or nobody knows whether we renewed it."""
        return self._lost.is_set() or time.monotonic() - self._renewed > SURE_SECONDS

    def acquire(self, until: float, wait_told: Callable[[str], None]) -> None:
        """Take it, or wait until it is free. `wait_told` is told once whose it is.

        Raises RefusedError when `until`, a time of the monotonic clock, has come.
        """
        seen, since, is_told = "", time.monotonic(), False
        while True:
            there = self._read()
            spec = (there or {}).get("spec") or {}
            holder = str(spec.get("holderIdentity") or "")
            version = str(((there or {}).get("metadata") or {}).get("resourceVersion") or "")
            if version != seen:
                seen, since = version, time.monotonic()
            lasts = float(spec.get("leaseDurationSeconds") or SECONDS)
            asked = time.monotonic()
            if (not holder or asked - since > lasts) and self._take(there):
                self._renewed = asked
                self._renewer.start()
                return
            if holder and not is_told:
                wait_told(holder)
                is_told = True
            if time.monotonic() > until:
                raise RefusedError(f"{self._where} is held by {holder or 'others'}: try later")
            time.sleep(uniform(*_LOOK_SECONDS))

    def release(self) -> None:
        """Give it back, so that the next one need not wait. Never raises."""
        self._ended.set()
        if self._renewer.is_alive():
            self._renewer.join(timeout=SECONDS)
        if self.is_lost or not self._lease:
            return
        try:
            self._write(self._document(self._lease, ""))
        except ClusterError:
            return  # it runs out by itself

    def hold(self) -> None:
        """Check that it is still held. Raises LostError."""
        if self.is_lost:
            raise LostError(f"{self._where} could not be renewed: another may submit by now")

    def _keep(self) -> None:
        pause = RENEW_SECONDS
        while not self._ended.wait(pause):
            asked = time.monotonic()
            try:
                written = self._write_once(self._document(self._lease, self.holder))
            except Exception:  # whatever it is, a login plugin's too: it is not renewed
                written = None
            pause = RENEW_SECONDS if written is not None else _AGAIN_SECONDS
            if written is not None:
                self._lease, self._renewed = written, asked
            elif self.is_lost or self._is_anothers():
                self._lost.set()
                return

    def _is_anothers(self) -> bool:
        try:
            answer = self._connection.http.get(
                f"{self._folder}/{self._name}", timeout=_ANSWER_SECONDS
            )
            if answer.status_code == httpx2.codes.NOT_FOUND:
                return True
            there = dict(answer.raise_for_status().json())
        except Exception:  # nobody knows: then the time since the last renewal decides
            return False
        if (there.get("spec") or {}).get("holderIdentity") != self.holder:
            return True
        self._lease = there  # our own write, whose answer was lost
        return False

    def _write_once(self, document: dict[str, Any]) -> dict[str, Any] | None:
        answer = self._connection.http.put(
            f"{self._folder}/{self._name}", json=document, timeout=_ANSWER_SECONDS
        )
        return dict(answer.json()) if answer.is_success else None

    def _read(self) -> dict[str, Any] | None:
        path = f"{self._folder}/{self._name}"
        http = self._connection.http
        try:
            answer = self._connection.ask(
                f"get {self._where}", lambda: http.get(path).raise_for_status()
            )
        except AbsentError:
            return None
        return dict(answer.json())

    def _take(self, there: dict[str, Any] | None) -> bool:
        """Whether it is ours now; not where another was quicker."""
        http = self._connection.http
        if there is None:
            made = self._document({"metadata": {"name": self._name}}, self.holder)
            answer = self._connection.ask(
                f"create {self._where}", lambda: _unless_taken(http.post(self._folder, json=made))
            )
            taken = dict(answer.json()) if answer.is_success else None
        else:
            taken = self._write(self._document(there, self.holder))
        if taken is None:
            return False
        self._lease = taken
        return True

    def _write(self, document: dict[str, Any]) -> dict[str, Any] | None:
        http, path = self._connection.http, f"{self._folder}/{self._name}"
        answer = self._connection.ask(
            f"update {self._where}", lambda: _unless_taken(http.put(path, json=document))
        )
        return dict(answer.json()) if answer.is_success else None

    def _document(self, there: dict[str, Any], holder: str) -> dict[str, Any]:
        now = datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
        old = there.get("spec") or {}
        changes = int(old.get("leaseTransitions") or 0)
        began = old.get("acquireTime") or now
        if holder and old.get("holderIdentity") != holder:
            changes, began = changes + 1, now
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": there["metadata"],
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": SECONDS,
                "acquireTime": began,
                "renewTime": now,
                "leaseTransitions": changes,
            },
        }


def _unless_taken(answer: httpx2.Response) -> httpx2.Response:
    """An answer; a conflict is one, too."""
    return answer if answer.status_code == _CONFLICT else answer.raise_for_status()


@contextmanager
def held(
    connection: Connection,
    namespace: str,
    until: float,
    wait_told: Callable[[str], None],
    name: str = NAME,
) -> Iterator[Mutex]:
    """The lock of a namespace, given back at the end whatever happens. Raises RefusedError."""
    mutex = Mutex(connection, namespace, name)
    mutex.acquire(until, wait_told)
    try:
        yield mutex
    finally:
        mutex.release()
