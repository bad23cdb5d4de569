"""What the doctor says of servers: by objects as the API server gives them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.doctor.bundle import bundle, read_bundle
from tf_cluster.cluster.doctor.examine import everything
from tf_cluster.cluster.reading import servers, with_logs
from tf_cluster.cluster.snapshot import Snapshot

from tests.generator.cluster.conftest import EMPTY, Server, config
from tests.generator.cluster.serving.documents import Object, deployment, model
from tests.generator.conftest import Command

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
SAID = "E could not be loaded\nFailed to start server. Error: digits did not become available"


def listed(*items: Object) -> tuple[int, Object, dict[str, str]]:
    return 200, {**EMPTY, "items": [*items]}, {}


def a_server(**models: Object) -> Object:
    made = deployment(**models)
    made["metadata"] |= {"namespace": "vision", "generation": 1}
    spec: Any = made["spec"]
    spec["template"]["metadata"] = {}
    return made


def a_pod(restarts: int, *, ready: bool = False, exit_code: int = 1) -> Object:
    marks = deployment()["metadata"]["labels"]
    ended = {"exitCode": exit_code, "reason": "Error", "message": SAID}
    status: Object = {
        "name": "serving",
        "image": "i",
        "imageID": "i",
        "ready": ready,
        "restartCount": restarts,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    return {
        "metadata": {
            "name": "digits-serving-x",
            "namespace": "vision",
            "uid": "u",
            "labels": marks,
        },
        "spec": {"nodeName": "n", "containers": [{"name": "serving", "image": "i"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [status],
        },
    }


def seen(use: Any, server: Server, deployments: list[Object], pods: list[Object]) -> Snapshot:
    """A snapshot of servers alone, as the API server gives them."""
    use(config(server.url))
    server.answers = [listed(*deployments), listed(*pods), listed()]
    return Snapshot(at=NOW, servers=servers(connect(None, None), "vision"))


def found(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(one.code, one.words) for _, some in everything(snapshot) for one in some]


@pytest.mark.parametrize(
    ("pod", "is_ill"),
    [
        (a_pod(3), True),
        (a_pod(1), False),
        (a_pod(3, ready=True), False),
        (a_pod(3, exit_code=0), False),
    ],
    ids=["again and again", "once", "it serves again", "it was told to end"],
)
def test_a_server_that_ends_again_and_again_is_named_with_its_last_words(
    pod: Object, is_ill: bool, use: Any, server: Server
) -> None:
    snapshot = seen(use, server, [a_server()], [pod])
    assert [code for code, _ in found(snapshot)] == (["TFD127"] if is_ill else [])
    for _, some in everything(snapshot):
        for one in some:
            assert "has ended 3 times at its start, with exit code 1" in one.words
            assert one.quote.endswith("digits did not become available")
            assert "--version N --release digits-serving --install" in one.mend


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (model(policy={"specific": [3, 4]}, stable=3), "digits 4 is loaded, and no label names it"),
        (model(policy={"specific": [3, 4]}, stable=4, previous=3), ""),
        (model(), ""),
    ],
    ids=["begun", "ended", "always the newest"],
)
def test_a_promotion_that_has_not_ended_is_named(
    one: Object, words: str, use: Any, server: Server
) -> None:
    snapshot = seen(use, server, [a_server(digits=one)], [])
    told = found(snapshot)
    assert [code for code, _ in told] == (["TFD128"] if words else [])
    assert all(words in said for _, said in told)


def logged(
    use: Any,
    server: Server,
    pods: list[Object],
    *lines: str,
    tail: int = 100,
    one: Object | None = None,
) -> Snapshot:
    """A snapshot of a server whose pods have said that."""
    snapshot = seen(use, server, [one or a_server()], pods)
    text = "".join(f"2026-11-28T11:{number:02}:00Z {line}\n" for number, line in enumerate(lines))
    server.answers = [(200, text.encode(), {})]
    return with_logs(connect(None, None), snapshot, tail)


FAILED = (
    "2026-11-28 11:00:00.7: E tensorflow_serving/util/retrier.cc:37] Loading servable: {name: "
    "digits version: 4} failed: NOT_FOUND: Could not find SavedModel .pb"
)
RETRIED = "I retrier.cc:33] Retrying of Loading servable: {name: digits version: 4} retry: 1"
LEFT = "I retrier.cc:42] Retrying of Loading servable: {name: digits version: 4} was cancelled."
LOADED = "I loader_harness.cc:95] Successfully loaded servable version {name: digits version: 4}"
OTHER = "I loader_harness.cc:95] Successfully loaded servable version {name: faces version: 4}"
POLLED = "I server_core.cc:465] Adding/updating models."


@pytest.mark.parametrize(
    ("pod", "lines", "is_ill"),
    [
        (a_pod(0, ready=True), (FAILED,), True),
        (a_pod(0, ready=True), (FAILED, RETRIED, OTHER), True),
        (a_pod(0, ready=True), (FAILED, LOADED), False),
        (a_pod(0, ready=True), (FAILED, LOADED, FAILED), True),
        (a_pod(0, ready=True), (FAILED, LEFT), False),
        (a_pod(0, ready=True), (OTHER,), False),
        (a_pod(1), (FAILED,), True),
        (a_pod(0, ready=True), (FAILED, *(POLLED,) * 40), True),
    ],
    ids=[
        "once",
        "tried again",
        "the disk was mended",
        "broken anew",
        "not wanted any more",
        "all is well",
        "it does not serve yet",
        "long ago",
    ],
)
def test_a_version_that_a_server_can_not_load_is_named(
    pod: Object, lines: tuple[str, ...], is_ill: bool, use: Any, server: Server
) -> None:
    snapshot = logged(use, server, [pod], *lines, tail=20)
    told = [one for _, some in everything(snapshot) for one in some]
    assert [one.code for one in told] == (["TFD129"] if is_ill else [])
    for one in told:
        assert one.about == "pod/digits-serving-x"
        assert one.words == "digits 4 can't be loaded: NOT_FOUND: Could not find SavedModel .pb"
        assert "rollout restart deployment digits-serving " in one.mend
        assert one.quote == FAILED
        assert one.at is not None


NEWER = LOADED.replace("version: 4", "version: 5")


@pytest.mark.parametrize(
    ("policy", "lines", "is_ill"),
    [
        ({"specific": [1, 4]}, (FAILED,), True),
        ({"specific": [1]}, (FAILED,), False),
        ({"latest": 1}, (FAILED, NEWER), False),
        ({"latest": 2}, (FAILED, NEWER), True),
        ({"all": True}, (FAILED, NEWER), True),
    ],
)
def test_a_version_that_no_policy_asks_for_any_more_is_not_named(
    policy: Object, lines: tuple[str, ...], is_ill: bool, use: Any, server: Server
) -> None:
    chosen = a_server(digits=model(policy=policy))
    snapshot = logged(use, server, [a_pod(0, ready=True)], *lines, one=chosen)
    assert [code for code, _ in found(snapshot)] == (["TFD129"] if is_ill else [])


def test_a_server_that_ends_on_a_version_is_named_once(use: Any, server: Server) -> None:
    snapshot = logged(use, server, [a_pod(3)], FAILED)
    assert [code for code, _ in found(snapshot)] == ["TFD127"]


def test_of_a_server_only_what_it_says_of_versions_is_kept_of_long_ago(
    use: Any, server: Server
) -> None:
    snapshot = logged(use, server, [a_pod(0, ready=True)], POLLED, FAILED, *(POLLED,) * 5, tail=3)
    (pod,) = snapshot.servers[0].pods
    assert [line.split("Z ", 1)[1] for line in pod.log] == [FAILED, *(POLLED,) * 3]
    assert "tailLines=2000" in server.asked[-1][0]


def test_other_deployments_are_no_servers(use: Any, server: Server) -> None:
    other = a_server()
    del other["metadata"]["annotations"]["tf-cluster.io/models"]
    assert seen(use, server, [other], []).servers == ()
    broken = a_server()
    broken["metadata"]["annotations"]["tf-cluster.io/models"] = "{"
    assert found(seen(use, server, [broken], [])) == []


def test_a_saved_snapshot_says_the_same_of_a_server(
    use: Any, server: Server, tf_cluster: Command, tmp_path: Path
) -> None:
    snapshot = seen(use, server, [a_server()], [a_pod(3)])
    file = tmp_path / "seen.json"
    file.write_text(bundle(snapshot))
    assert read_bundle(str(file)) == snapshot
    done = tf_cluster("doctor", "digits-serving", "--from", "seen.json")
    assert done.returncode == 1, done.stderr
    assert "digits-serving: TFD127: pod/digits-serving-x: the server has ended" in done.stdout
    assert "0 trainings and 1 server looked at, 1 with findings" in done.stderr
    document = json.loads(tf_cluster("doctor", "--from", "seen.json", "--output", "json").stdout)
    assert [one["name"] for one in document["trainings"]] == ["digits-serving"]
