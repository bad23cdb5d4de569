"""What a between-graph worker makes of the ends of its sessions, without a cluster."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.strategies.between_graph.outage import LOST_SESSIONS, Outage
from tf_cluster_trainer.strategies.between_graph.worker import BetweenGraph


class Worker(BetweenGraph):
    """Calls whose end the test chooses."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        nothing = SimpleNamespace(forget=lambda: None)
        self._session: Any = SimpleNamespace(probe=nothing, drop=lambda: None)
        self._state: Any = SimpleNamespace(ready=False, seen=SimpleNamespace(step=0))
        self._outage = Outage(0, lambda kind: ["ps-0"], self.lost.append, lambda: 0.0)

    def a_call_ends(self, error: Exception | None = None, *, step: int = 0) -> None:
        work: Future[None] = Future()
        if error:
            work.set_exception(error)
        else:
            self._state.seen.step = step
            work.set_result(None)
        self._work = work
        self._finish()


LOSS = tf.errors.UnavailableError(None, None, "Socket closed")


def test_sessions_that_are_lost_again_and_again_without_a_step_end_the_worker() -> None:
    worker = Worker()
    for _ in range(LOST_SESSIONS):
        worker.a_call_ends(LOSS)
    with pytest.raises(PeerLostError, match="in a row were lost without a step"):
        worker.a_call_ends(LOSS)


def test_an_outage_counts_as_one_loss_of_each_ps_that_is_away() -> None:
    worker = Worker()
    worker.a_call_ends(LOSS)
    worker.a_call_ends(LOSS)
    assert worker.lost == ["ps-0"]
    worker.a_call_ends(step=5)
    worker.a_call_ends(LOSS)
    assert worker.lost == ["ps-0", "ps-0"]


def test_steps_between_two_losses_allow_as_many_again() -> None:
    worker = Worker()
    for step in range(1, 3 * LOST_SESSIONS):
        worker.a_call_ends(LOSS)
        worker.a_call_ends(step=step)


def test_a_call_without_a_step_allows_none() -> None:
    worker = Worker()
    with pytest.raises(PeerLostError):
        for _ in range(LOST_SESSIONS + 1):
            worker.a_call_ends(LOSS)
            worker.a_call_ends()
