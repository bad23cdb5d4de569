"""A ps that goes with its node: nobody closes the connections to it, and another takes its place.

In a network namespace of the test's own, the packets of the connections that there are get lost,
as they do on the way to a node that is gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Progress, Saved
from tf_cluster_trainer.strategies.between_graph.probe import PERIOD_SECONDS, ConnectionProbe

from tests.programs import ENDLESS
from tests.support.children import Children
from tests.trainer.strategies.between_graph.workers import begin
from tests.trainer.strategies.turns import FAULTS, turn

NEEDS = ("ip", "iptables", "ss")
AS_HERE = {"replication": "between-graph", "save_seconds": 1.0}


@pytest.fixture
def namespace() -> Iterator[str]:
    """Its name; everything in it is gone with it."""
    if os.geteuid() != 0 or not all(map(shutil.which, NEEDS)):
        pytest.skip(f"needs root and {', '.join(NEEDS)}")
    name = f"tf-cluster-test-{os.getpid()}"
    subprocess.run(("ip", "netns", "add", name), check=True)
    try:
        subprocess.run(("ip", "-n", name, "link", "set", "lo", "up"), check=True)
        yield name
    finally:
        subprocess.run(("ip", "netns", "delete", name), check=True)


def lose_packets(namespace: str, port: str) -> int:
    """Drop all packets of the present connections with this port; how many such ends there are."""
    within = ("ip", "netns", "exec", namespace)
    listed = subprocess.run(
        (*within, "ss", "-Htn", "state", "established"), check=True, capture_output=True, text=True
    )
    ends = 0
    for line in listed.stdout.splitlines():
        ours, theirs = (address.rpartition(":")[2] for address in line.split()[2:4])
        if port in (ours, theirs):
            pair = ("--sport", ours, "--dport", theirs, "-j", "DROP")
            rule = ("iptables", "-A", "INPUT", "-p", "tcp", *pair)
            subprocess.run((*within, *rule), check=True)
            ends += 1
    return ends


@turn(FAULTS, of="between-graph")
def test_a_ps_replaced_without_a_word_ends_the_workers_child_and_a_new_one_goes_on(
    namespace: str, tmp_path: Path
) -> None:
    within = ("ip", "netns", "exec", namespace)
    with Children(tmp_path, workers=1, ps=1, has_chief=False, within=within) as world:
        ps = world.serve("ps")["ps-0"]
        worker = begin(world, 0, "1", steps=ENDLESS, **AS_HERE)
        worker.wait_for(Saved)
        port = world.addresses["ps"][0].rpartition(":")[2]
        assert lose_packets(namespace, port) > 0
        ps.end()
        world.serve("ps")
        assert worker.exit_code() == exit_codes.PEER_LOST, worker.tail()
        assert "its connection never closed" in worker.text()
        saved = world.checkpoints()[-1]
        again = begin(world, 0, "1", steps=saved + 100, **AS_HERE)
        assert again.exit_code() == exit_codes.DONE, again.tail()
        assert again.of(Progress)[0].step >= saved


def test_a_line_is_silent_from_the_first_question_without_an_answer() -> None:
    now, answer = [0.0], [True]

    def ask() -> None:
        if not answer[0]:
            raise OSError

    line = ConnectionProbe(ask, clock=lambda: now[0])

    def after(seconds: float) -> float:
        now[0] += seconds
        line.silent_for()
        asked = line._asking
        if asked is not None:
            futures.wait([asked])
        return line.silent_for()

    assert after(0) == 0
    assert after(PERIOD_SECONDS) == 0
    answer[0] = False
    assert after(PERIOD_SECONDS) == 0
    assert after(PERIOD_SECONDS) == PERIOD_SECONDS
    assert after(10) == PERIOD_SECONDS + 10
    answer[0] = True
    assert after(PERIOD_SECONDS) == 0


def test_a_line_that_waits_for_its_answer_never_holds_up_who_asks() -> None:
    now = [0.0]
    line = ConnectionProbe(lambda: time.sleep(1), clock=lambda: now[0])
    for _ in range(20):
        silence = line.silent_for()
        now[0] += 1
    assert silence == 19
    line.forget()
    assert line.silent_for() == 0
