"""stop and delete: what ends, what is saved, what stays, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import turns
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import CommandError, Release
from tests.cluster.operations.conftest import MakeTerminal, Tool
from tests.cluster.operations.diagnosis import findings, seen
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.ENDING, of=turns.OF)]

NAME = "halted"


@pytest.fixture(scope="module")
def values(make_values: MakeValues) -> Path:
    return make_values(NAME, **SLOWLY, workers=1, train={"steps": ENDLESS})


@pytest.fixture(scope="module")
def release(make_release: Callable[[str], Release], values: Path, tool: Tool) -> Release:
    release = make_release(NAME)
    release.install(values)
    eventually("steps", lambda: tool.document("get", NAME)["step"], 120)
    return release


def test_a_stopped_training_is_saved_and_goes_on_by_its_next_attempt(
    release: Release, values: Path, tool: Tool, read_log_volume: Callable[[str, str], str]
) -> None:
    assert tool("stop", NAME).startswith(f"{NAME} has ended: stopped")
    document = tool.document("get", NAME)
    assert document["status"] == "stopped"
    assert "tf-cluster stop ended it at" in document["why"]
    assert "has ended before" in tool.ran("stop", NAME, code=2).stderr
    assert tool("wait", NAME, code=1).startswith("stopped")
    assert [one for one in findings(seen(release)) if one.code == "TFD118"] == []
    status = json.loads(read_log_volume(f"{NAME}-log", f"cat /log/{NAME}/1/progress.json"))
    assert status["status"] == "stopped"
    saved = status["checkpointStep"]
    assert saved > 0

    release.upgrade(values, "run.attempt=2")
    step = eventually("new steps", lambda: tool.document("get", NAME)["step"], 120)
    assert step >= saved
    assert tool.document("get", NAME)["status"] == "running"


def test_claims_that_another_pod_uses_are_not_deleted(
    release: Release, tool: Tool, read_log_volume: Callable[[str, str], str]
) -> None:
    read_log_volume(f"{NAME}-log", "true")
    refused = tool.ran("delete", NAME, "--claims", "--yes", code=2).stderr
    assert f"claim {NAME}-log is used by pod/reader-{NAME}-log too" in refused
    assert tool.document("get", NAME)["status"] == "running"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("", "no helm on PATH: install Helm 3.18 or later"),
        ("echo v3.10.2+g50f003e", "is Helm v3.10: it has to be Helm 3.18 or later"),
        ("exit 3", "does not say its version"),
    ],
)
def test_without_a_helm_that_will_do_nothing_is_deleted(
    program: str, words: str, release: Release, tool: Tool, tmp_path: Path
) -> None:
    if program:
        helm = tmp_path / "helm"
        helm.write_text(f"#!/bin/sh\n{program}\n")
        helm.chmod(0o755)
    ran = tool.ran("delete", NAME, code=2, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert words in ran.stderr
    assert tool.document("get", NAME)["status"] == "running"


def test_delete_saves_what_was_said_and_leaves_the_claims(
    release: Release, tool: Tool, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    ran = tool.ran("delete", NAME, "--save", str(saved))
    assert f"the claims stay, with what was trained: {NAME}-data {NAME}-log" in ran.stderr
    assert release.objects("job,deployment,pod") == []
    assert len(release.objects("pvc")) == 2
    tasks = {path.name.split(".")[0] for path in saved.glob("*.log")}
    assert {"chief", "worker-0", "ps-0"} <= tasks
    document = json.loads((saved / "training.json").read_text())
    assert (document["name"], document["status"]) == (NAME, "running")
    assert f"no training '{NAME}'" in tool.ran("delete", NAME, code=2).stderr


def test_delete_with_claims_takes_its_own_alone(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tool: Tool,
    terminal: MakeTerminal,
) -> None:
    release = make_release("thrown")
    release.install(make_values("thrown", **SLOWLY, workers=1, data={"claim": f"{NAME}-data"}))
    eventually("its pods", lambda: len(release.running("worker")) == 1, 120)
    assert "--yes" in tool.ran("delete", "thrown", "--claims", code=2).stderr
    asked = terminal("delete", "thrown", "--claims")
    asked.until("Type the name of the training: ")
    assert "This deletes thrown-log" in asked.read
    asked.type("thorwn")
    assert asked.ended() == 2
    assert "another name was typed: nothing is deleted" in asked.read
    assert release.running("worker")
    ran = tool.ran("delete", "thrown", "--claims", "--yes", "-o", "json")
    assert "deleted thrown-log" in ran.stderr
    claims = json.loads(ran.stdout)["claims"]
    assert claims == {"deleted": ["thrown-log"], "kept": [f"{NAME}-data"]}
    eventually("no claim of its own", lambda: not release.objects("pvc"), 60)
    assert release.namespace.kubectl("get", "pvc", f"{NAME}-data")
    with pytest.raises(CommandError):
        release.namespace.kubectl("get", "pvc", "thrown-log")
