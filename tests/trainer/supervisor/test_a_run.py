"""A whole run with stand-in children, from start to final state."""

from __future__ import annotations

import json
import os
import signal
from urllib.error import HTTPError
from urllib.request import urlopen

from .conftest import MakeWorld


def test_a_run_ends_with_exit_code_0_everywhere_but_in_the_ps(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    chief, worker, ps = world.start_all()
    assert chief.ends() == 0
    assert worker.ends() == 0
    assert ps.process.poll() is None

    document = json.loads((world.run_dir / "progress.json").read_text())
    assert (document["status"], document["final"], document["exitCode"]) == ("done", True, 0)
    assert (document["step"], document["percent"]) == (20, 100.0)
    assert document["jobUids"] == {"chief": "cj", "worker": "wj", "evaluator": None}
    assert document["metrics"] == {"accuracy": 0.97}
    assert json.loads((world.run_dir / "owner.json").read_text())["released"] is True


def test_the_status_port_serves_metrics_while_the_run_lasts(make_world: MakeWorld) -> None:
    chief, worker, _ = make_world().start_all()
    chief.until(status="running")
    assert "tf_cluster_step_target 1e+06" in _text(chief.address, "/metrics")
    assert "tf_cluster_serving 1.0" in _text(worker.address, "/metrics")
    assert _status(chief.address, "/nothing") == 404


def test_temporary_files_of_a_child_are_removed_also_after_a_kill(make_world: MakeWorld) -> None:
    world = make_world()
    temporary = world.directory / "temporary"
    chief, worker, _ = world.start_all()
    first = worker.child(1)
    assert len(list(temporary.glob("*/left"))) >= 1
    os.kill(first, signal.SIGKILL)
    worker.child(2)
    chief.do("finish")
    assert chief.ends() == worker.ends() == 0
    # The ps serves on.
    assert len(list(temporary.iterdir())) == 1


def _text(address: str, path: str) -> str:
    with urlopen(f"http://{address}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def _status(address: str, path: str) -> int:
    try:
        with urlopen(f"http://{address}{path}", timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
