"""Taking workers back one by one.

TensorFlow's coordinator reconnects the whole cluster at once and waits in that for every worker
that is away: when two are lost and one returns, that one stays idle until the other is back too.
Here only the workers that answer are in the cluster that is reconnected.
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
# One that does not answer but was not lost is slow (a busy machine), or its call is about to fail.
PATIENCE_SECONDS = 30.0
# TensorFlow closes what it had at a worker that is away, which takes gRPC up to 20 s.
STUCK_SECONDS = 45.0
LOOK_AGAIN_SECONDS = 5.0
SILENT_LOOKS = 4


def install(
    coordinator: Any, log: Callable[[str], None], lost: Callable[[str], None]
) -> PerWorkerRecovery:
    """Let the coordinator recover its workers this way. Call it before anything is scheduled.

    `log` is told in a sentence which worker is lost and which is back, `lost` the name of one that
    is lost.
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
    """The coordinator's own handling of lost workers, with a cluster of those that are there.

    The base class reads `_server_def` each time it reconnects, in a thread of its own.
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
        # Lost: waits to be reconnected. Away: was said to be lost. A worker that is still away
        # when others are reconnected tries, fails and waits again; that is not worth a word.
        self._lost: set[int] = set()
        self._away: set[int] = set()
        # The workers of the reconnection under way, and how often in a row each did not answer.
        self._reconnecting: set[int] = set()
        self._silent: dict[int, int] = {}
        self._look_at: float | None = None
        self._noting = threading.Lock()
        super().__init__(server_def, cluster)

    def check(self) -> None:
        """Raises PeerLostError when a worker that is back can't be had without a new start.

        TensorFlow reconnects without a deadline: a worker that dies in those milliseconds holds
        up the others until it is back itself. On a busy machine one that lives may be slow to
        answer, so it has to be silent several times in a row.
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
        """These are being reconnected from now on; none: it is over."""
        self._reconnecting = workers
        self._silent = {}
        self._look_at = time.monotonic() + STUCK_SECONDS if workers else None

    @property
    def _server_def(self) -> Any:
        """The cluster with the workers that answer, as soon as a lost one is among them.

        It waits for the others to answer or to be lost, for a while: a worker that is left out in
        the middle of a call ends us, as what a ps says of one that it no longer knows can't be
        told from a lost ps.
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
        """As the base class; notes which worker is lost before waiting for it."""

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
            # Called when the cluster was reconnected.
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
