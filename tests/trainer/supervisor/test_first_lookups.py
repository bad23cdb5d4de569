"""Names are not looked up before their pods had the time to be there (peers.py says why)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers import ask as peers
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, NoNameError, Watch, ask
from tf_cluster_trainer.supervisor.peers.guard import PeerGuard
from tf_cluster_trainer.supervisor.rules.events import PeerSeen
from tf_cluster_trainer.supervisor.rules.gate import Peer, health_of

from tests.ports import free_port
from tests.support.waiting import eventually

from .conftest import MakeWorld


class Listener(HTTPServer):
    """Counts who asks."""

    asked = 0
    request_queue_size = 128


class _Answer(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"task": "ps-0", "attempt": "a1", "serving": true, "epoch": "e/1"}')

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    server = Listener(("127.0.0.1", free_port()), _Answer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_peer_is_asked_when_it_has_announced_itself_and_not_before(listener: Listener) -> None:
    announced = threading.Event()
    peer = Peer("ps-0", f"127.0.0.1:{listener.server_port}")
    watch = Watch([peer], Inbox(), child=1, announced=lambda task: announced.is_set())
    assert not announced.wait(0.5), "half a second for a question that must not come"
    assert listener.asked == 0
    announced.set()
    eventually("the announced peer is asked", lambda: watch.seen()["ps-0"].serving)
    watch.stop()


def test_a_guard_tells_at_first_that_a_peer_answers(listener: Listener) -> None:
    """The last question before training may have failed: it is not to be taken for gone."""
    peer, inbox = Peer("ps-0", f"127.0.0.1:{listener.server_port}"), Inbox()
    known = health_of(ask(peer.address, "/healthz"))
    guard = PeerGuard([peer], {"ps-0": known}, inbox, child=1, attempt="a1", period=0.05)
    assert inbox.next(5.0) == PeerSeen(1, "ps-0", known)
    assert inbox.next(0.5) is None, "once"
    guard.stop()


def seconds_until_asked(listener: Listener, times: int, began: float) -> float:
    """Since `began`, a time before the first question: threads may take long to start."""
    eventually(f"{times} questions", lambda: listener.asked >= times, 30)
    return time.monotonic() - began


def test_a_guard_of_many_peers_asks_twenty_a_second_of_all_together(listener: Listener) -> None:
    peers = [Peer(f"ps-{index}", f"127.0.0.1:{listener.server_port}") for index in range(40)]
    known = health_of(ask(peers[0].address, "/healthz"))
    began = time.monotonic()
    guard = PeerGuard(
        peers,
        {peer.task: known for peer in peers},
        Inbox(),
        child=1,
        attempt="a1",
        period=0.05,
    )
    first = seconds_until_asked(listener, 1 + 1, began)
    round_ended = seconds_until_asked(listener, 1 + len(peers), began)
    assert round_ended - first >= 1, "not all in one moment, of a round of 2 s"
    # Two rounds; after its own period alone each peer would be asked twice in a tenth of a second.
    assert seconds_until_asked(listener, 1 + 2 * len(peers), began) >= 0.9 * 2 * len(peers) / 20
    guard.stop()


def test_a_watch_of_many_peers_asks_two_hundred_a_second_of_all_together(
    listener: Listener,
) -> None:
    peers = [Peer(f"ps-{index}", f"127.0.0.1:{listener.server_port}") for index in range(100)]
    began = time.monotonic()
    watch = Watch(peers, Inbox(), child=1, announced=lambda task: True)
    # The first round is at once, the third after two waits.
    assert seconds_until_asked(listener, 3 * len(peers), began) >= 0.9 * 2 * len(peers) / 200
    watch.stop()


def test_a_watch_that_was_stopped_tells_nothing_more(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, answered = threading.Event(), threading.Event()

    def slowly(address: str, path: str) -> dict[str, object]:
        asking.set()
        answered.wait()
        raise NoAnswerError("no answer within 2 s")

    monkeypatch.setattr(peers, "ask", slowly)
    inbox = Inbox()
    peer = Peer("ps-0", f"127.0.0.1:{listener.server_port}")
    watch = Watch([peer], inbox, child=1, announced=lambda task: True)
    assert asking.wait(5.0)
    watch.stop()
    answered.set()
    assert inbox.next(0.5) is None


def test_a_peer_that_is_later_than_we_are_is_not_asked_before_it_announces_itself(
    listener: Listener,
) -> None:
    peer = Peer("ps-0", f"127.0.0.1:{listener.server_port}")
    watch = Watch([peer], Inbox(), child=1, announced=lambda task: False)
    watch.hurry()
    time.sleep(3)  # a question would make the name servers remember that it is not there
    assert listener.asked == 0
    watch.stop()


def test_a_peer_that_does_not_announce_itself_is_asked_at_last(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "UNANNOUNCED_SECONDS", 0.1)
    peer = Peer("ps-0", f"127.0.0.1:{listener.server_port}")
    watch = Watch([peer], Inbox(), child=1, announced=lambda task: False)
    watch.hurry()
    eventually("the silent peer is asked", lambda: watch.seen()["ps-0"].serving)
    watch.stop()


def test_a_name_that_does_not_resolve_is_told_from_a_host_that_does_not_answer() -> None:
    with pytest.raises(NoNameError):
        ask("nobody.invalid:8080", "/healthz")
    with pytest.raises(NoAnswerError, match="refuses connections"):
        ask(f"127.0.0.1:{free_port()}", "/healthz")


def test_a_ps_that_cannot_find_the_chief_takes_the_epoch_from_the_chiefs_question(
    make_world: MakeWorld,
) -> None:
    ps = make_world().start("ps")
    eventually("the ps serves", lambda: ps.health().get("serving"))
    ask(ps.address, "/healthz?attempt=another&epoch=x/1")
    ask(ps.address, "/healthz?attempt=a1&epoch=pod/7")
    eventually("the ps serves the chief's epoch", lambda: ps.health().get("epoch") == "pod/7")
