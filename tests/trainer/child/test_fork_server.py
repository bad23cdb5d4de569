"""A fork is what a child of its own start is, and its tester sees it end as it sees a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.protocol import Failure, Ready, Serving

from tests.support import children
from tests.support.children import Child, Children
from tests.support.forked import Forked, ForkServer
from tests.support.processes import alive
from tests.support.waiting import eventually
from tests.trainer.child.programs.telling import WORD

HERE = str(Path(__file__).parents[3])
TELLING = {"module": "tests.trainer.child.programs.telling:Telling", "path": HERE}


def what_it_says_of_itself(child: Child) -> tuple[dict[str, Any], list[float]]:
    child.wait_for(Ready)
    (line,) = (line for line in child.text().splitlines() if line.startswith(WORD))
    told = json.loads(line.removeprefix(WORD))
    itself = told["itself"]
    for its_own in (protocol.CONTROL_VARIABLE, "TF_CLUSTER_CONFIG"):
        del itself["environment"][its_own]
    assert itself["standard files"].pop() == itself["standard files"].pop() == str(child.log)
    return itself, told["chance"]


def test_a_fork_is_what_a_child_of_its_own_start_is(lonely: Children) -> None:
    lonely.forks = False
    real = lonely.chief(**TELLING)
    lonely.forks = True
    forks = [lonely.chief(**TELLING) for _ in range(2)]
    assert [type(child.process) for child in (real, *forks)] == [subprocess.Popen, Forked, Forked]
    (expected, _), *found = map(what_it_says_of_itself, (real, *forks))
    assert [itself for itself, _ in found] == [expected, expected]
    (_, one), (_, other) = found
    assert not {*one} & {*other}


def test_a_fork_ends_as_a_process_does(lonely: Children) -> None:
    ended = lonely.start("chief", module="no_such:Program")
    assert ended.exit_code() == exit_codes.CONFIG
    assert "no_such" in ended.of(Failure)[0].message
    ended.signal(signal.SIGKILL)
    assert ended.process.poll() == exit_codes.CONFIG

    asked, killed = lonely.start("ps"), lonely.start("worker")
    for server in (asked, killed):
        server.wait_for(Serving)
        assert server.process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        asked.process.wait(0.1)
    asked.signal(signal.SIGTERM)
    killed.signal(signal.SIGKILL)
    assert (asked.exit_code(), killed.exit_code()) == (exit_codes.STOPPED, -signal.SIGKILL)


@pytest.mark.parametrize("name", ["PYTHONPATH", "TF_XLA_FLAGS", "OMP_NUM_THREADS", "HOME"])
def test_what_an_import_may_read_makes_a_child_start_by_itself(lonely: Children, name: str) -> None:
    lonely.environment = {**lonely.environment, name: "another"}
    child = lonely.start("ps")
    assert isinstance(child.process, subprocess.Popen)


def test_xla_makes_a_child_start_by_itself(lonely: Children) -> None:
    assert isinstance(lonely.start("ps", xla=True).process, subprocess.Popen)


def test_forks_end_with_their_server(lonely: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ForkServer("bare", os.environ)
    monkeypatch.setattr(children, "fork_server_of", lambda _: server)
    child = lonely.start("ps")
    child.wait_for(Serving)
    server.process.kill()
    eventually("its end", lambda: not alive(child.process.pid))
    with pytest.raises(AssertionError, match="fork server is gone"):
        child.process.poll()
    lonely.children.clear()
    server.end()
