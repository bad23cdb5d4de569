"""A reconnection that one worker's death holds up, without the seconds it takes."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from tf_cluster_trainer.child.errors import PeerLostError
from tf_cluster_trainer.strategies import worker_recovery
from tf_cluster_trainer.strategies.worker_recovery import OneByOne


def held(monkeypatch: pytest.MonkeyPatch, *, lost: set[int], serving: set[int]) -> OneByOne:
    """Three workers, and a reconnection that began longer ago than any takes."""
    recovery = object.__new__(OneByOne)
    workers = {index: f"host-{index}:1" for index in range(3)}
    job = SimpleNamespace(name="worker", tasks=workers)
    recovery._whole = SimpleNamespace(cluster=SimpleNamespace(job=[job]))
    recovery._lost = lost
    recovery._noting = threading.Lock()
    recovery._reconnecting_since = -1e9
    there = {workers[index] for index in serving}
    monkeypatch.setattr(worker_recovery, "answers", lambda address: address in there)
    return recovery


def test_a_worker_that_waits_for_a_dead_one_is_a_reason_to_start_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recovery = held(monkeypatch, lost={0, 1}, serving={0, 2})
    with pytest.raises(PeerLostError, match="while worker-0 was being reconnected"):
        recovery.check()


@pytest.mark.parametrize(
    ("lost", "serving"),
    [({0}, {1, 2}), ({0, 1}, {2}), ({0}, {0, 1, 2})],
    ids=["the others train on", "none of the lost is back", "nobody is away"],
)
def test_nothing_is_held_up(
    monkeypatch: pytest.MonkeyPatch, lost: set[int], serving: set[int]
) -> None:
    held(monkeypatch, lost=lost, serving=serving).check()


def test_a_reconnection_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    recovery = held(monkeypatch, lost={0, 1}, serving={0, 2})
    monkeypatch.setattr(worker_recovery.time, "monotonic", lambda: -1e9 + 1)
    recovery.check()
