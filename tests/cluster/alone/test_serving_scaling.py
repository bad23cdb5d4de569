"""Servers of models: more pods by the real autoscaler under load, and what a broken version does.

The claim is ReadWriteMany. Under load each new pod has its share 30 s after it is ready, since the
clients balance themselves as the printed program does, and a pod without their label is kept out.
The server is the stand-in of tests/serving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.serving.releasing import CHART

from tests.cluster import turns
from tests.cluster.alone.faults import Machine
from tests.cluster.kubernetes import Namespace, Object, condition
from tests.cluster.metrics_server import metrics_server
from tests.cluster.model_server import SERVING_IMAGE, asked, asker, assert_none_lost
from tests.cluster.operations.diagnosis import diagnosed_server
from tests.cluster.strangers import assert_kept_out
from tests.serving.saved_models import INPUT, put
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually
from tools.machine.layout import Addresses
from tools.machine.volume import StaticVolume, create

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    in_turn(turns.METRICS, of=turns.OF),
]

RELEASE, MODEL, MODELS = "scaled", "scales", "shared-models"
FRAGILE = "fragile"
"""A server of a model whose newest version comes to be broken, and the model's name."""
MOST = 3
"""Pods of the server under load."""
SETTLED_SECONDS, LEAST_SHARE = 30, 0.5
"""How long after it is ready a new pod has to have its share, and how much of an equal one."""


@pytest.fixture(scope="module")
def volume(machine: Machine) -> Iterator[Path]:
    """A ReadWriteMany volume with a version of two models, which the claim MODELS holds."""
    admin, name = machine.admin, f"{machine.admin.name}-{MODELS}"
    directory = create(StaticVolume(name, mode=0o755), machine.layout, Addresses())
    for model in (MODEL, FRAGILE):
        put(directory / model, 1, 2.0)
        let_all_read(directory / model)
    admin.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": MODELS},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "volumeName": name,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
    yield directory
    assert admin.kubectl("get", "pvc", MODELS, "--output=jsonpath={.status.phase}") == "Bound"
    admin.kubectl("delete", "pvc", MODELS, f"--timeout={HANG_SECONDS:.0f}s")
    admin.kubectl("delete", "pv", name, "--wait=false")


def let_all_read(directory: Path) -> None:
    """The server is another user than these tests."""
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def values_of(model: str) -> dict[str, Any]:
    """Values of a server of what comes newest of a model."""
    repository, _, tag = SERVING_IMAGE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "models": {model: {"source": {"claim": {"name": MODELS, "path": model}}}},
        "storage": {"accessModes": ["ReadWriteMany"]},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }


@pytest.fixture(scope="module")
def server(
    volume: Path, machine: Machine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server of one pod, or three under load; the release's name."""
    values = {
        **values_of(MODEL),
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}},
        "autoscaling": {
            "enabled": True,
            "maxReplicas": MOST,
            "targetCPUUtilizationPercentage": 80,
            "behavior": {
                "scaleDown": {
                    "stabilizationWindowSeconds": 0,
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}],
                }
            },
        },
    }
    file = tmp_path_factory.mktemp("server") / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    machine.admin.helm("install", RELEASE, str(CHART), f"--values={file}")
    yield RELEASE
    machine.admin.helm("uninstall", RELEASE, "--wait")


def pods(namespace: Namespace, release: str = RELEASE) -> list[Object]:
    """The server's pods that are ready and stay."""
    found = namespace.objects("pod", **{"app.kubernetes.io/instance": release})
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"] and condition(pod, "Ready")
    ]


def answered(namespace: Namespace, pod: Object) -> int:
    """How many requests a pod has answered, by its own count."""
    url = f"http://{pod['status']['podIP']}:8501/monitoring/prometheus/metrics"
    program = f"from urllib.request import urlopen; print(urlopen({url!r}).read().decode())"
    said = namespace.kubectl("exec", "steady", "--", "python3", "-c", program)
    counts = re.findall(r"^:tensorflow:serving:request_count\{[^}]*\} ([\d.]+)$", said, re.M)
    return int(sum(map(float, counts)))


def test_pods_come_are_replaced_and_go_and_no_request_is_lost(
    server: str, machine: Machine, tmp_path: Path
) -> None:
    there = machine.admin
    (first,) = eventually("the first pod", lambda: pods(there), 120)
    for port in (8500, 8501):
        assert_kept_out(there, first["status"]["podIP"], port)

    # 50 requests in a second at most, which one pod bears, and for a while as many as there can be.
    inputs = {INPUT: [[1.0, 2.0, 3.0]]}
    steady = asker(there, server, MODEL, inputs, pause=0.02, name="steady")
    crowd = asker(there, server, MODEL, inputs, threads=4, pause=0, name="crowd")
    heard = []
    with metrics_server(there, tmp_path):
        there.apply(steady)
        there.apply(crowd)
        try:
            shares: dict[str, float] = {}

            def settled() -> bool:
                shares.update(_shares(there, {_name(first), *shares}))
                return len(shares) == MOST - 1

            eventually("the share of each new pod", settled, HANG_SECONDS)
            assert min(shares.values()) >= LEAST_SHARE, shares
            all_of_them = eventually("three pods", lambda: _most(there), HANG_SECONDS)
            there.kubectl("rollout", "restart", "deployment", server)
            there.kubectl(
                "rollout", "status", "deployment", server, f"--timeout={HANG_SECONDS:.0f}s"
            )
            old = {_name(pod) for pod in all_of_them}
            eventually("the old pods to be gone", lambda: not old & _names(there), HANG_SECONDS)
            heard.append(asked(there, "crowd"))
            there.kubectl("delete", "pod", "crowd", f"--timeout={HANG_SECONDS:.0f}s")
            eventually("one pod again", lambda: len(_names(there)) == 1, HANG_SECONDS)
            heard.append(asked(there, "steady"))
        finally:
            there.kubectl("delete", "pod", "steady", "crowd", "--ignore-not-found", "--wait=false")
    for found in heard:
        assert_none_lost(found)


def test_the_doctor_names_a_broken_version_and_the_servers_that_end_on_it(
    volume: Path, machine: Machine, tmp_path: Path
) -> None:
    there = machine.admin
    file = tmp_path / "values.yaml"
    # So that a server ends at once, not after five minutes in which it tries again.
    values = {**values_of(FRAGILE), "server": {"extraArgs": ["--max_num_load_retries=0"]}}
    file.write_text(yaml.safe_dump(values))
    there.helm("install", FRAGILE, str(CHART), f"--values={file}")
    try:
        (serves,) = eventually("the first pod", lambda: pods(there, FRAGILE), 120)
        broken = volume / FRAGILE / "2.tmp"
        broken.mkdir()
        (broken / "saved_model.pb").write_bytes(b"no message")
        let_all_read(broken)
        broken.rename(volume / FRAGILE / "2")
        said = eventually("the version to be named", lambda: _told(there, "TFD129"), 120)
        assert f"{FRAGILE} 2 can't be loaded" in said.words
        assert pods(there, FRAGILE), "it serves the version before"

        there.kubectl("delete", "pod", serves["metadata"]["name"], "--wait=false")
        said = eventually("the end again and again", lambda: _told(there, "TFD127"), 240)
        assert "did not become available" in said.quote
    finally:
        there.helm("uninstall", FRAGILE, "--wait")


def _told(namespace: Namespace, code: str) -> Finding | None:
    try:
        return diagnosed_server(namespace, FRAGILE, code)
    except AssertionError:
        return None


def _names(namespace: Namespace) -> set[str]:
    """Of all pods of the server, those that are about to go, too."""
    found = namespace.objects("pod", **{"app.kubernetes.io/instance": RELEASE})
    return {_name(one) for one in found}


def _most(namespace: Namespace) -> list[Object]:
    found = pods(namespace)
    return found if len(found) == MOST else []


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _age(pod: Object) -> float:
    """Seconds since a pod is ready, by its own condition."""
    ready = condition(pod, "Ready")
    assert ready
    since = datetime.fromisoformat(ready["lastTransitionTime"].replace("Z", "+00:00"))
    return (datetime.now(timezone.utc) - since).total_seconds()


def _shares(namespace: Namespace, seen: set[str]) -> dict[str, float]:
    """Of the requests from now on, each pod's part of an equal one: of those whose time has come.

    Those that were seen are left out.
    """
    there = pods(namespace)
    ages = {_name(pod): _age(pod) for pod in there}
    due = [name for name, age in ages.items() if age >= SETTLED_SECONDS and name not in seen]
    if not due:
        return {}
    before = {_name(pod): answered(namespace, pod) for pod in there}

    def more() -> dict[str, int] | None:
        made = {_name(pod): answered(namespace, pod) - before[_name(pod)] for pod in there}
        return made if sum(made.values()) > 100 else None

    made = eventually("a hundred more requests", more, 60)
    shares = {name: len(there) * made[name] / sum(made.values()) for name in due}
    for name, share in shares.items():
        print(f"{name}: {share:.2f} of an equal share, {ages[name]:.0f} s after it was ready")
    return shares
