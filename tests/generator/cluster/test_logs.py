"""Logs as nodes write them, and as connections break: from a server that does so on demand."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tf_cluster.cluster import logs
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.logs import WHOLE, Line, followed, merged, read
from tf_cluster.cluster.snapshot import Container, Pod

from tests.generator.cluster.conftest import Server, config

BROKEN = {"Broken": "yes"}
FORBIDDEN = (403, {"kind": "Status", "code": 403, "message": "no logs"}, {})


def pod(role: str = "chief", index: int = 0, phase: str = "Running") -> Pod:
    name = f"digits-{role}-{index}"
    task = Container(role, is_running=phase == "Running", is_ready=True)
    return Pod(name, role, "cf7ebc8b", phase, index=index, uid=name, containers=(task,))


def text(*lines: str) -> tuple[int, bytes, dict[str, str]]:
    return 200, "".join(f"{line}\n" for line in lines).encode(), {}


def alive(one: Pod, phase: str = "Running") -> tuple[int, dict[str, Any], dict[str, str]]:
    return 200, {"metadata": {"uid": one.uid}, "status": {"phase": phase}}, {}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, use: Any, server: Server) -> None:
    use(config(server.url))
    monkeypatch.setattr(logs, "LOOK_SECONDS", 0.2)


def test_a_line_ends_where_kubernetes_ends_it(server: Server) -> None:
    bar = "Epoch 1: 10%\rEpoch 1: 20%\x0b\x1c\u2028and on"
    server.answers = [text(f"2026-11-28T06:00:00.5Z {bar}", "2026-11-28T06:00:01Z next")]
    assert list(read(connect(None, None), "vision", pod(), WHOLE)) == [
        Line("2026-11-28T06:00:00.500000000Z", "chief", bar),
        Line("2026-11-28T06:00:01.000000000Z", "chief", "next"),
    ]


def test_a_line_without_a_time_has_that_of_the_line_before(server: Server) -> None:
    raw = b"2026-11-28T06:00:00Z \xff\xfe\n... cut\n"
    server.answers = [(200, raw, {})]
    found = list(read(connect(None, None), "vision", pod(), WHOLE))
    assert [line.words for line in found] == ["\ufffd\ufffd", "... cut"]
    assert {line.time for line in found} == {"2026-11-28T06:00:00.000000000Z"}


def test_times_of_nodes_with_other_zones_are_one_order(server: Server) -> None:
    server.answers = [
        text("2026-11-28T06:00:00Z first", "2026-11-28T06:00:00.25Z third"),
        text("2026-11-28T01:00:00.1-05:00 second", "2026-11-28T08:00:01+02:00 fourth"),
    ]
    pods = [pod("worker", 0), pod("worker", 1)]
    told: list[str] = []
    found = merged(connect(None, None), "vision", pods, WHOLE, told.append)
    assert [line.words for line in found] == ["first", "second", "third", "fourth"]
    assert told == []


def test_a_log_that_can_not_be_read_is_told_and_the_others_are_shown(server: Server) -> None:
    server.answers = [(500, b"no route to host", {}), text("2026-11-28T06:00:00Z here")]
    pods = [pod("worker", 0), pod("worker", 1)]
    told: list[str] = []
    found = list(merged(connect(None, None), "vision", pods, WHOLE, told.append))
    assert [line.task for line in found] == ["worker-1"]
    (words,) = told
    assert "digits-worker-0" in words
    assert "no route to host" in words


def test_the_ends_of_many_logs_are_read_sixteen_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, reading, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def read_slowly(*_: Any) -> list[Line]:
        nonlocal reading, most
        with lock:
            reading += 1
            most = max(most, reading)
            if reading == 16:
                full.set()
        assert full.wait(10), f"{most} at once"
        time.sleep(0.05)  # were there more, they would come now
        with lock:
            reading -= 1
        return [Line("2026-11-28T06:00:00Z", "chief", "here")]

    monkeypatch.setattr(logs, "read", read_slowly)
    pods = {f"team-{number}": [pod(), pod("worker", 0)] for number in range(20)}
    found = logs.ends(connect(None, None), pods, 20)
    assert len(found) == 40
    assert most == 16


def test_a_followed_log_that_breaks_off_goes_on_after_its_last_line(server: Server) -> None:
    one = pod()
    first = [f"2026-11-28T06:00:0{second}Z line {second}" for second in range(3)]
    later = [*first[2:], "2026-11-28T06:00:02Z also at second 2", "2026-11-28T06:00:05Z line 5"]
    code, raw, _ = text(*first)
    server.answers = [
        (code, raw, BROKEN),
        alive(one),
        (503, b"busy", {}),
        alive(one),
        text(*later),
        alive(one, "Succeeded"),
    ]
    found = list(followed(connect(None, None), "vision", lambda: ([one], False), WHOLE))
    assert [line.words for line in found] == ["line 0", "line 1", "line 2", "line 5"]
    again = [path for path, _ in server.asked if "/log?" in path][1:]
    assert all("sinceTime=2026-11-28T06%3A00%3A02Z" in path for path in again)


def test_lines_of_one_moment_are_all_shown(server: Server) -> None:
    one = pod()
    server.answers = [
        text("2026-11-28T06:00:00Z a", "2026-11-28T06:00:00Z b"),
        alive(one, "Succeeded"),
    ]
    found = followed(connect(None, None), "vision", lambda: ([one], False), WHOLE)
    assert [line.words for line in found] == ["a", "b"]


def test_a_pod_that_comes_later_is_read_from_its_beginning(server: Server) -> None:
    old, new = pod("worker", 0), pod("worker", 1)
    looks = iter([[old], [old, new]])
    server.answers = [text("2026-11-28T06:00:00Z old"), alive(old, "Failed")]

    def look() -> tuple[list[Pod], bool]:
        pods = next(looks, [old, new])
        if new in pods and not any("worker-1" in path for path, _ in server.asked):
            server.answers += [text("2026-11-28T06:01:00Z new"), alive(new, "Succeeded")]
        return pods, len(pods) == 1

    part = logs.Part(tail=1)
    found = list(followed(connect(None, None), "vision", look, part))
    assert [line.words for line in found] == ["old", "new"]
    asked = {path.split("/")[6]: path for path, _ in server.asked if "/log?" in path}
    assert "tailLines=1" in asked["digits-worker-0"]
    assert "tailLines" not in asked["digits-worker-1"]


def test_who_may_not_read_logs_is_told_at_once(server: Server) -> None:
    server.answers = [FORBIDDEN]
    with pytest.raises(logs.ForbiddenError, match="pods/log"):
        list(followed(connect(None, None), "vision", lambda: ([pod()], True), WHOLE))
