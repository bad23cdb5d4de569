"""A whole run with stand-in children, from start to final state."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tf_cluster_trainer.supervisor.status import termination
from tf_cluster_trainer.supervisor.status.document import Document

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


def test_the_end_is_the_pods_termination_message(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    kubelets = world.directory / "termination-log"
    kubelets.touch()
    told = {termination.PATH_VARIABLE: str(kubelets)}
    chief, *_ = world.start_all(**told)
    assert chief.ends() == 0
    left = json.loads(kubelets.read_text())
    on_disk = json.loads((world.run_dir / "progress.json").read_text())
    # The document on the disk may have been written once more.
    assert left == {**on_disk, "placement": {}, **{k: left[k] for k in ("now", "jobUids")}}
    assert (left["status"], left["step"]) == ("done", 20)


def test_where_no_kubelet_made_the_file_nobody_does(make_world: MakeWorld) -> None:
    world = make_world(steps=20)
    there_is_none = world.directory / "termination-log"
    chief, *_ = world.start_all(**{termination.PATH_VARIABLE: str(there_is_none)})
    assert chief.ends() == 0
    assert not there_is_none.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": {str(index): 10**6 for index in range(5_000)}},
        {"metrics": {f"a metric {index}": 0.5 for index in range(500)}},
        {"export": "/log/" + "e" * 5_000},
        {"message": 5_000 * "x"},
        {"message": 1_000 * '\n\t\x1b"\\'},
        {"message": 3_000 * "ä\u2028\U0001f600"},
        {"message": "\udc80" + 9_000 * "y"},
    ],
    ids=["workers", "metrics", "export", "words", "escapes", "other letters", "bytes"],
)
def test_a_long_document_is_a_message_that_kubernetes_keeps_whole(changes: dict[str, Any]) -> None:
    whole = Document("a1", 1.0, 20, 32, status="failed", message="why", step=7, workers={"0": 7})
    left = json.loads(termination.message(replace(whole, **changes)))
    assert len(termination.message(replace(whole, **changes))) <= termination.MOST_BYTES
    assert (left["status"], left["step"]) == ("failed", 7)
    (changed,) = changes
    if changed == "message":
        assert left["message"].endswith("…") and len(left["message"]) > 100
        assert left["workers"] == {"0": 7}
    else:
        assert left["message"] == "why" and not left[changed]


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
