"""A reconnection that one worker's death holds up, without the seconds it takes."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.strategies.in_graph import worker_recovery
from tf_cluster_trainer.strategies.in_graph.worker_recovery import PerWorkerRecovery


class Held:
    """Three workers that are reconnected; who is lost, and who answers, is up to the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, lost: set[int]) -> None:
        self.now = 0.0
        self.serving: set[int] = set()
        workers = {index: f"host-{index}:1" for index in range(3)}
        job = SimpleNamespace(name="worker", tasks=workers)
        monkeypatch.setattr(worker_recovery.time, "monotonic", lambda: self.now)
        there = {address: index for index, address in workers.items()}
        monkeypatch.setattr(
            worker_recovery, "responds", lambda address: there[address] in self.serving
        )
        self.said: list[str] = []
        self.recovery = object.__new__(PerWorkerRecovery)
        self.recovery._whole = SimpleNamespace(cluster=SimpleNamespace(job=[job]))
        self.recovery._lost = lost
        self.recovery._away = set(lost)
        self.recovery._log = self.said.append
        self.recovery._noting = threading.Lock()
        self.recovery._reconnect({0, 1, 2})

    def look_for(self, seconds: int, serving: set[int]) -> None:
        """The loop's looks of so many seconds, in which these workers answer."""
        self.serving = serving
        for _ in range(seconds):
            self.now += 1
            self.recovery.check()


def test_a_worker_that_waits_for_a_dead_one_is_a_reason_to_start_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held(monkeypatch, lost={0, 1})
    held.look_for(44, {0, 2})
    with pytest.raises(PeerLostError, match="while worker-0 was being reconnected"):
        held.look_for(30, {0, 2})


@pytest.mark.parametrize(
    ("lost", "serving"),
    [({0}, {1, 2}), ({0, 1}, {2}), ({0}, {0, 1, 2})],
    ids=["the others train on", "none of the lost is back", "all answer"],
)
def test_nothing_is_held_up(
    monkeypatch: pytest.MonkeyPatch, lost: set[int], serving: set[int]
) -> None:
    Held(monkeypatch, lost=lost).look_for(300, serving)


def test_a_busy_worker_that_misses_a_look_now_and_then_is_not_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held(monkeypatch, lost={0})
    for _ in range(10):
        held.look_for(15, {0, 2})
        held.look_for(5, {0, 1, 2})


def test_a_reconnection_that_is_over_is_no_longer_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held(monkeypatch, lost={0, 1})
    held.recovery._reconnect(set())
    held.look_for(300, {0, 2})


@pytest.mark.parametrize(
    ("silent", "patience", "reconnected"),
    [({2: 20}, 20, {0, 1, 2}), ({2: 900}, 30, {0, 1}), ({1: 900}, 0, {0, 2})],
    ids=["one is slow to answer", "one is silent for good", "the silent one is lost"],
)
def test_who_comes_back_waits_a_while_for_those_whose_loss_is_not_known(
    monkeypatch: pytest.MonkeyPatch, silent: dict[int, int], patience: int, reconnected: set[int]
) -> None:
    held = Held(monkeypatch, lost={0, 1})

    def look(address: str) -> bool:
        index = int(address[len("host-")])
        held.now += 1 / 3
        return held.now > silent.get(index, 0)

    monkeypatch.setattr(worker_recovery, "responds", look)
    monkeypatch.setattr(worker_recovery, "LOOK_SECONDS", 0)
    monkeypatch.setattr(PerWorkerRecovery, "_with_workers", lambda self, there: there)
    assert held.recovery._server_def == reconnected
    assert held.now == pytest.approx(patience, abs=3)
    back = sorted({0, 1} & reconnected)
    assert held.said == [f"worker-{index} is back" for index in back]
