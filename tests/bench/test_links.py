"""A network of links: who is told what, and, as root, what goes over one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.bench import links
from tests.bench.links import Links, LinksError, Traffic, makers, traffic_of

MEGABYTES = 5
SERVE = f"""
import socket
with socket.create_server(("10.99.0.1", 5000)) as server:
    print("listens", flush=True)
    one, _ = server.accept()
    left = {MEGABYTES} * 1_000_000
    while left:
        left -= len(one.recv(min(left, 1 << 20)))
"""
SEND = f"""
import socket
with socket.create_connection(("10.99.0.1", 5000)) as one:
    one.sendall(bytes({MEGABYTES} * 1_000_000))
    one.recv(1)
"""


def test_what_comes_in_at_the_bridge_the_task_has_sent() -> None:
    ends = [
        {"ifname": f"task{place}", "stats64": {"rx": {"bytes": 10 + place}, "tx": {"bytes": 20}}}
        for place in range(2)
    ]
    told = json.dumps([{"ifname": "bridge0", "stats64": {}}, *ends])
    found = traffic_of(told, {"ps-0": 0, "worker-0": 1})
    assert found == {"ps-0": Traffic(10, 20), "worker-0": Traffic(11, 20)}
    assert found["worker-0"].since(found["ps-0"]) == Traffic(1, 0)


def test_only_namespaces_of_our_own_names_are_ours() -> None:
    told = "tfc-links-12-0-hub (id: 3)\ntfc-links-12-0-ps-0\nx-tfc-links-1-0-hub\ncni-tfc-links\n"
    assert makers(told) == {"tfc-links-12-0-hub": 12, "tfc-links-12-0-ps-0": 12}


@pytest.fixture
def two() -> Iterator[Links]:
    """Two tasks with links of 100 Mbit/s."""
    try:
        made = Links(["ps-0", "worker-0"], 100_000_000)
    except (LinksError, FileNotFoundError) as error:
        pytest.skip(f"no links here: {error}")
    yield made
    made.remove()


def test_a_link_holds_its_task_to_the_rate_and_counts_its_bytes(two: Links) -> None:
    python = (sys.executable, "-I", "-S", "-c")
    with subprocess.Popen(two.inside("ps-0", *python, SERVE), stdout=subprocess.PIPE) as server:
        assert server.stdout and server.stdout.readline() == b"listens\n"
        began = time.monotonic()
        subprocess.run(two.inside("worker-0", *python, SEND), check=True)
        took = time.monotonic() - began
    assert took > MEGABYTES * 8 / 100 * 0.9
    worker, ps = two.traffic()["worker-0"], two.traffic()["ps-0"]
    assert MEGABYTES * 1e6 < worker.sent < MEGABYTES * 1.1e6
    assert worker.sent == pytest.approx(ps.received, rel=0.01)


def test_what_runs_in_a_network_ends_with_it(two: Links) -> None:
    assert len(links_of(os.getpid())) == 3
    process = subprocess.Popen(two.inside("ps-0", "sleep", "1000"))
    two.remove()
    assert process.wait(5) == -9
    assert links_of(os.getpid()) == []


def test_what_a_killed_maker_left_is_removed_by_the_next(two: Links) -> None:
    code = (
        "import os; from tests.bench.links import Links; a = Links(['a']); os.kill(os.getpid(), 9)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as maker:
        assert maker.wait() == -9
        assert links_of(maker.pid)
        links.remove_leftovers()
        assert links_of(maker.pid) == []


def links_of(pid: int) -> list[str]:
    told = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
    return [name for name, maker in makers(told.stdout).items() if maker == pid]
