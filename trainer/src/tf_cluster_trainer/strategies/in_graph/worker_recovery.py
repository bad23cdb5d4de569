"""Reconnects lost workers one by one.

TensorFlow's coordinator reconnects the whole cluster at once and waits for every absent worker:
when two are lost and one returns, it stays idle until the other is back. Here the reconnected
cluster has only the workers that answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from tensorflow.python.distribute.coordinator import cluster_coordinator

from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.servers.health import responds

LOOK_SECONDS = 0.2
# A worker that does not answer but was not lost is slow (a busy machine), or its call is about to
# fail.
PATIENCE_SECONDS = 30.0
# TensorFlow closes its connections to an absent worker, which takes gRPC up to 20 s.
STUCK_SECONDS = 45.0
LOOK_AGAIN_SECONDS = 5.0
SILENT_LOOKS = 4


def install(
    coordinator: Any, log: Callable[[str], None], lost: Callable[[str], None]
) -> PerWorkerRecovery:
    """Let the coordinator recover its workers this way. Call it before anything is scheduled.

    `log` gets a sentence when a worker is lost or back; `lost` gets the name of each lost worker.
    """
    cluster = coordinator._cluster
    whole = cluster.failure_handler
    recovery = PerWorkerRecovery(whole._server_def, cluster, log, lost)
    whole.stop()
    cluster.failure_handler = recovery
    for worker in cluster.workers:
        worker.failure_handler = recovery
    return recovery


class PerWorkerRecovery(cluster_coordinator.WorkerPreemptionHandler):  # type: ignore[misc]
    """The coordinator's handling of lost workers, with a cluster of those that are present.

    The base class reads `_server_def` each time it reconnects, in its own thread.
    """

    def __init__(
        self,
        server_def: Any,
        cluster: Any,
        log: Callable[[str], None],
        lost: Callable[[str], None],
    ) -> None:
        self._whole = server_def
        self._log = log
        self._tell_lost = lost
        # Lost: waits to be reconnected. Away: was logged as lost. A worker that is still away when
        # others are reconnected tries, fails and waits again, without a log line.
        self._lost: set[int] = set()
        self._away: set[int] = set()
        # The workers of the reconnection under way, and how often in a row each did not answer.
        self._reconnecting: set[int] = set()
        self._silent: dict[int, int] = {}
        self._look_at: float | None = None
        self._noting = threading.Lock()
        super().__init__(server_def, cluster)

    def check(self) -> None:
        """Raise PeerLostError if a returned worker can't be reconnected without a new start.

        TensorFlow reconnects without a deadline: a worker that dies in those milliseconds blocks
        the others until it is back itself. On a busy machine a living worker may be slow to answer,
        so it has to be silent several times in a row.
        """
        if self._look_at is None or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_AGAIN_SECONDS
        with self._noting:
            lost = set(self._lost)
        serving = {index for index, address in self._workers() if responds(address)}
        self._silent = {
            index: self._silent.get(index, 0) + 1 for index in self._reconnecting - serving
        }
        waiting = sorted(lost & serving)
        if waiting and max(self._silent.values(), default=0) >= SILENT_LOOKS:
            names = " and ".join(f"worker-{index}" for index in waiting)
            raise PeerLostError(f"another worker went away while {names} was being reconnected")

    def _reconnect(self, workers: set[int]) -> None:
        """Note the workers whose reconnection begins; none: it has ended."""
        self._reconnecting = workers
        self._silent = {}
        self._look_at = time.monotonic() + STUCK_SECONDS if workers else None

    @property
    def _server_def(self) -> Any:
        """Return a cluster of the workers that answer, as soon as a lost one is among them.

        It waits a while for the others to answer or to be lost. If a worker is left out in the
        middle of a call, this process ends: a ps' error about a worker that it no longer knows
        looks like that of a lost ps.
        """
        self._reconnect(set())
        all_heard_at = time.monotonic()
        while True:
            there = {index for index, address in self._workers() if responds(address)}
            now = time.monotonic()
            with self._noting:
                silent = {index for index, _ in self._workers()} - there - self._lost
                if not silent:
                    all_heard_at = now
                if self._lost & there and (not silent or now - all_heard_at > PATIENCE_SECONDS):
                    for index in sorted(self._away & there):
                        self._away.remove(index)
                        self._log(f"worker-{index} is back")
                    self._reconnect(there)
                    return self._with_workers(there)
            threading.Event().wait(LOOK_SECONDS)

    @_server_def.setter
    def _server_def(self, server_def: Any) -> None:
        self._whole = server_def

    def wait_on_failure(
        self,
        on_failure_fn: Callable[[Exception], None] | None = None,
        on_transient_failure_fn: Callable[[], None] | None = None,
        on_recovery_fn: Callable[[], None] | None = None,
        worker_device_name: str = "(unknown)",
    ) -> AbstractContextManager[None]:
        """As in the base class; logs which worker is lost before it waits for it."""

        index = int(worker_device_name.rpartition(":")[2])

        def note(error: Exception) -> None:
            with self._noting:
                self._lost.add(index)
                if index not in self._away:
                    self._away.add(index)
                    self._log(f"worker-{index} is lost; its call goes to another worker")
                    self._tell_lost(f"worker-{index}")
            if on_failure_fn:
                on_failure_fn(error)

        def forget() -> None:
            # The base class calls it after the cluster is reconnected.
            self._reconnect(set())
            with self._noting:
                self._lost.discard(index)
            if on_recovery_fn:
                on_recovery_fn()

        context: AbstractContextManager[None] = super().wait_on_failure(
            note, on_transient_failure_fn, forget, worker_device_name
        )
        return context

    def _workers(self) -> Iterable[tuple[int, str]]:
        for job in self._whole.cluster.job:
            if job.name == "worker":
                yield from job.tasks.items()

    def _with_workers(self, there: Iterable[int]) -> Any:
        partial = type(self._whole)()
        partial.CopyFrom(self._whole)
        for job in partial.cluster.job:
            if job.name == "worker":
                for index in set(job.tasks) - set(there):
                    del job.tasks[index]
        return partial
