"""The rules of the doctor on recordings that are changed by hand, for what comes now and then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.doctor.bundle import bundle, read_bundle
from tf_cluster.cluster.doctor.examine import LOG_LINES, examined
from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.reading import with_logs
from tf_cluster.cluster.snapshot import Condition, Container, Snapshot, Training

from tests.generator.cluster.conftest import Server, config, recorded
from tests.generator.conftest import Command


def found(snapshot: Snapshot, training: Training, code: str) -> list[Finding]:
    whole = replace(snapshot, trainings=(training,))
    return [one for one in examined(whole, training) if one.code == code]


def with_client(training: Training, **changed: Any) -> Training:
    """The same, with another client's pod."""
    client = training.client_pods()[0]
    pods = [replace(pod, **changed) if pod == client else pod for pod in training.pods]
    return replace(training, pods=tuple(pods))


def test_a_training_for_which_helm_has_only_waited_too_short_is_well() -> None:
    snapshot, training = recorded("TFD120-living")
    failed = tuple(replace(one, status="failed") for one in snapshot.releases)
    assert found(replace(snapshot, releases=failed), training, "TFD126") == []
    snapshot, training = recorded("TFD123-living")
    assert found(snapshot, training, "TFD126")


@pytest.mark.parametrize(
    ("reason", "words", "mend"),
    [
        ("its name does not resolve (no pod yet?)", "and its name does not resolve", "name server"),
        ("no answer within 2 s", "its name resolves, and nothing answers", "a NetworkPolicy or"),
        ("refuses connections", "its name resolves, and nothing answers", "a NetworkPolicy or"),
        ("serves another attempt (ff)", "its pod is ready: serves another attempt (ff)", "tries"),
    ],
)
def test_why_a_task_with_a_ready_pod_is_waited_for_is_told(
    reason: str, words: str, mend: str
) -> None:
    snapshot, training = recorded("TFD114-gate")
    client = training.client_pods()[0]
    host = "gate-ps-0-3a957145.gate-3a957145"
    line = client.log[-1].replace("its name does not resolve (no pod yet?)", reason)
    assert f"ps-0 ({host}): {reason}" in line
    training = with_client(training, log=(*client.log[:-1], line))
    ready = {
        "node": "n",
        "phase": "Running",
        "conditions": (Condition("Ready", "True"),),
        "containers": (Container("ps", is_running=True, is_ready=True),),
    }
    pods = [replace(pod, **ready) if pod.role == "ps" else pod for pod in training.pods]
    (finding,) = found(snapshot, replace(training, pods=tuple(pods)), "TFD114")
    assert words in finding.words
    assert mend in finding.mend


def test_a_training_that_stands_still_is_found_though_its_program_says_much(
    use: Any, server: Server
) -> None:
    snapshot, training = recorded("TFD120-living")
    last = training.client_pods()[0].log[-1].partition(" ")[2]
    begun = snapshot.at - timedelta(minutes=20)
    lines = []
    for second in range(0, 1200, 2):
        at = f"{begun + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}Z"
        lines.append(f"{at} {last if second % 10 == 0 else 'a line of the program'}\n")
    use(config(server.url))
    running = Container("chief", is_running=True, is_ready=True)
    training = with_client(training, log=(), containers=(running,))
    client = training.client_pods()[0]
    log = f"/api/v1/namespaces/{training.namespace}/pods/{client.name}/log"
    server.by_path[log] = (200, "".join(lines).encode(), {})
    read = with_logs(connect(None, None), replace(snapshot, trainings=(training,)), LOG_LINES)
    (finding,) = found(read, read.trainings[0], "TFD120")
    assert "no step for 20 minutes" in finding.words
    kept = read.trainings[0].client_pods()[0].log
    assert sum("of the program" in line for line in kept) == LOG_LINES * 4 // 5


def test_a_file_that_is_there_is_kept_unless_it_is_said(
    use: Any, server: Server, tf_cluster: Command, tmp_path: Path
) -> None:
    use(config(server.url))
    (tmp_path / "seen.json").write_text("mine")
    done = tf_cluster("doctor", "--save", "seen.json")
    assert (done.returncode, server.asked) == (2, [])
    assert "seen.json exists: --force overwrites it" in done.stderr
    assert tf_cluster("doctor", "--force").returncode == 2
    (tmp_path / "seen.json").write_text(bundle(recorded("TFD120-living")[0]))
    done = tf_cluster("doctor", "--save", "seen.json", "--force")
    assert done.returncode == 0, done.stderr
    assert read_bundle(str(tmp_path / "seen.json")).trainings == ()
