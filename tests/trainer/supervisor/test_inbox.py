"""What a supervisor's main thread waits for."""

from __future__ import annotations

import threading

from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.rules.events import Event, RunSeen, StopAsked, Tick


def test_events_come_in_order_and_a_tick_when_there_is_none() -> None:
    inbox = Inbox()
    inbox.next_or_tick(60)
    events: list[Event] = [StopAsked(), RunSeen(), StopAsked()]
    for event in events:
        inbox.put(event)
    assert [inbox.next_or_tick(60) for _ in events] == events
    assert Inbox().next_or_tick(60) == Tick()


def test_ticks_come_where_events_never_cease() -> None:
    """A thousand peers are asked one after another: progress.json is to be written meanwhile."""
    inbox, enough = Inbox(), threading.Event()

    def feed() -> None:
        while not enough.wait(0.01):
            inbox.put(StopAsked())

    threading.Thread(target=feed, daemon=True).start()
    seen: list[Event] = []
    try:
        while seen.count(Tick()) < 5:
            seen.append(inbox.next_or_tick(0.1))
            assert len(seen) < 1000
    finally:
        enough.set()
    assert seen.count(StopAsked()) > 5
