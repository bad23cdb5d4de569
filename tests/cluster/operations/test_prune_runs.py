"""prune runs: what goes from a claim, and all that has to survive it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from tf_cluster.params.schema_files import printed_schema_text

from tests.cluster import turns
from tests.cluster.conftest import SMALL, MakeValues, sleeping_pod
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.operations.conftest import Tool, claim
from tests.programs import ENDLESS, PACED_INLINED, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), in_turn(turns.PRUNE_RUNS, of=turns.OF)]

CLAIM, FOLDER, DIGITS, GONE = "team", "runs", "digits", "gone"
RUNS = f"/log/{FOLDER}"
AGED = f"find {RUNS}/* -exec touch --no-dereference --date '30 days ago' {{}} +"
ReadVolume = Callable[[str, str], str]


@pytest.fixture(scope="module")
def release(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    namespace: Namespace,
    tool: Tool,
    read_log_volume: ReadVolume,
    tmp_path_factory: pytest.TempPathFactory,
) -> Release:
    """Two runs of a training that works on its third, two of one that is gone, and links."""
    namespace.apply(claim(CLAIM))
    script = tmp_path_factory.mktemp("scripts") / "ends.py"
    script.write_text("print('trained')\n")
    common: dict[str, Any] = {
        "small": False,
        "strategy": "all-reduce",
        "workers": 1,
        "resources": {"worker": SMALL["worker"]},
        "data": {"enabled": False},
        "log": {"claim": CLAIM, "subPath": FOLDER},
    }
    program = {"source": {"files": [script.name]}, "script": script.name}
    of: dict[str, dict[str, Any]] = {
        DIGITS: PACED_INLINED,
        GONE: {"beside": (script,), "program": program},
    }
    releases = {name: make_release(name) for name in of}

    def values(name: str, run: int, steps: int = 5) -> Path:
        training = {"train": {"steps": steps}} if name == DIGITS else {}
        flags = {"flags": SLOWLY["flags"]} if steps == ENDLESS else {}
        return make_values(name, **common, **of[name], **training, **flags, run={"id": str(run)})

    for name, one in releases.items():
        one.install(values(name, 1))
    for name in (GONE, DIGITS):
        tool("wait", name, "--timeout", "200")
        releases[name].upgrade(values(name, 2))
    for name in (GONE, DIGITS):
        tool("wait", name, "--timeout", "200")
    releases[GONE].uninstall()
    releases[DIGITS].upgrade(values(DIGITS, 3, ENDLESS))
    read_log_volume(CLAIM, f"ln -s /etc {RUNS}/{DIGITS}/link; ln -s {RUNS}/{DIGITS} {RUNS}/linked")
    server = sleeping_pod(
        "server",
        {
            "args": [f"--model_base_path=/models/{DIGITS}/2/export"],
            "volumeMounts": [{"name": "runs", "mountPath": "/models", "subPath": FOLDER}],
        },
        volumes=[{"name": "runs", "persistentVolumeClaim": {"claimName": CLAIM}}],
    )
    server["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 3600"]
    namespace.apply(server)
    eventually("steps of run 3", lambda: tool.document("get", DIGITS)["step"], 120)
    return releases[DIGITS]


def pruned(tool: Tool, *words: str) -> dict[str, Any]:
    document = tool.document("prune", "runs", *words)
    Draft7Validator(json.loads(printed_schema_text("prune-runs"))).validate(document)
    return document


def outcomes(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        f"{one['training']}/{one['run']}": (one["outcome"], one["why"]) for one in document["runs"]
    }


def jobs_and_pods(namespace: Namespace) -> list[str]:
    """What of a look is there."""
    selector = "--selector=app.kubernetes.io/managed-by=tf-cluster"
    return namespace.kubectl("get", "jobs,pods", selector, "--output=name").split()


def test_each_run_that_must_survive_does(
    release: Release, tool: Tool, namespace: Namespace, read_log_volume: ReadVolume
) -> None:
    read_log_volume(CLAIM, AGED)
    tree = f"cd {RUNS}; find . -path ./{DIGITS}/3 -prune -o -print | sort"
    before = read_log_volume(CLAIM, tree)
    job = release.one("job", "worker")["metadata"]["name"]
    stays = {
        f"{DIGITS}/2": ("stays", "pod/server names it"),
        f"{DIGITS}/3": ("stays", f"job/{job} names it"),
    }
    document = pruned(tool, DIGITS, "--keep", "0", "--dry-run")
    why = f"pod/reader-{CLAIM} mounts the volume and says not what it reads: it may be an export"
    assert outcomes(document) == {f"{DIGITS}/1": ("stays", why), **stays}
    assert document["others"] == [{"name": f"{DIGITS}/link", "why": "it is a link"}]
    assert read_log_volume(CLAIM, tree) == before

    namespace.kubectl("label", "pod", f"reader-{CLAIM}", "app.kubernetes.io/component=test")
    document = pruned(tool, DIGITS, "--older", "10d", "--yes")
    assert outcomes(document) == {f"{DIGITS}/1": ("removed", ""), **stays}
    ended = [one for one in document["runs"] if one["run"] != "3"]
    assert [(one["exports"], one["checkpoint"]) for one in ended] == [(["export/1"], 5)] * 2
    assert {one["bytes"] > 50_000 for one in ended} == {True}
    after = [line for line in before.splitlines() if not f"{line}/".startswith(f"./{DIGITS}/1/")]
    assert read_log_volume(CLAIM, tree).splitlines() == after
    assert "./digits/2/export/1/saved_model.pb" in after
    assert jobs_and_pods(namespace) == []
    assert namespace.kubectl("get", "pvc", CLAIM)
    assert tool.document("get", DIGITS)["status"] == "running"


def test_runs_of_a_training_that_is_gone_go_by_their_claim(
    release: Release, tool: Tool, read_log_volume: ReadVolume
) -> None:
    unknown = tool.ran("prune", "runs", GONE, "--keep", "1", code=2).stderr
    assert f"prune runs {GONE} --claim {GONE}-log" in unknown
    document = pruned(tool, GONE, "--claim", CLAIM, "--keep", "0", "--yes")
    assert outcomes(document) == {
        f"{GONE}/1": ("removed", ""),
        f"{GONE}/2": ("stays", "it is the newest run of its training"),
    }
    first, second = (one["bytes"] for one in document["runs"])
    assert (document["bytesBefore"], document["bytesAfter"]) == (first + second, second)
    assert read_log_volume(CLAIM, f"ls {RUNS}/{GONE}").split() == ["2"]
    assert read_log_volume(CLAIM, f"ls {RUNS}/{DIGITS}").split() == ["2", "3", "link"]


def test_a_pod_that_never_starts_is_told_and_removed(
    release: Release, tool: Tool, namespace: Namespace
) -> None:
    words = ("prune", "runs", DIGITS, "--keep", "1", "--image", "localhost/nowhere:1")
    said = tool.ran(*words, "--timeout", "15s", code=2).stderr
    assert "has not ended within 15 s: its pod waits on node" in said
    assert "prune: ErrImagePull" in said or "prune: ImagePullBackOff" in said
    assert jobs_and_pods(namespace) == []
    said = tool.ran("prune", "runs", "--claim", "nothere", "--keep", "1", code=2).stderr
    assert "not found: get persistentvolumeclaim nothere" in said


def test_after_ctrl_c_no_job_is_left(release: Release, tool: Tool, namespace: Namespace) -> None:
    with subprocess.Popen(
        tool.command("prune", "runs", "--claim", CLAIM, "--keep", "1", "--dry-run"),
        stderr=subprocess.PIPE,
        text=True,
        env=tool.environment,
    ) as process:
        eventually("its pod", lambda: len(jobs_and_pods(namespace)) == 2, 30)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130, complaint
    assert jobs_and_pods(namespace) == []
