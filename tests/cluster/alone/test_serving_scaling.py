"""A server of models under load: more pods by the real autoscaler, each with its share, then fewer.

The claim is ReadWriteMany, the clients balance themselves as docs/serving.md has it, and a pod
without their label is kept out. The server is the stand-in of tests/serving.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.serving.releasing import CHART

from tests.cluster import turns
from tests.cluster.alone.faults import Machine
from tests.cluster.conftest import sleeping_pod
from tests.cluster.kubernetes import Namespace, Object
from tests.cluster.metrics_server import metrics_server
from tests.cluster.model_server import CLIENT, CLIENT_IMAGE, SERVING_IMAGE
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
# Two threads that ask all the time, each by a channel that takes the pods in turn.
ASK = f"""
import sys, threading, time
import grpc, numpy, tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc as service

request = predict_pb2.PredictRequest()
request.model_spec.name = {MODEL!r}
request.inputs[{INPUT!r}].CopyFrom(tf.make_tensor_proto([[1.0, 2.0, 3.0]]))
counted = {{"good": 0, "bad": 0}}

def ask():
    how = [("grpc.lb_policy_name", "round_robin")]
    stub = service.PredictionServiceStub(grpc.insecure_channel(sys.argv[1], how))
    while True:
        try:
            stub.Predict(request, timeout=20, wait_for_ready=True)
            counted["good"] += 1
        except grpc.RpcError as error:
            counted["bad"] += 1
            print(error.code(), error.details(), flush=True)
        time.sleep(0.005)

for _ in range(2):
    threading.Thread(target=ask, daemon=True).start()
while True:
    time.sleep(2)
    print("asked", counted["good"], counted["bad"], flush=True)
"""


@pytest.fixture(scope="module")
def volume(machine: Machine) -> Iterator[str]:
    """A ReadWriteMany volume with a version of a model; a claim holds it."""
    admin, name = machine.admin, f"{machine.admin.name}-{MODELS}"
    directory = create(StaticVolume(name, mode=0o755), machine.layout, Addresses())
    put(directory / MODEL, 1, 2.0)
    for path in (directory / MODEL, *(directory / MODEL).rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # the server is another user
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
    yield MODELS
    assert admin.kubectl("get", "pvc", MODELS, "--output=jsonpath={.status.phase}") == "Bound"
    admin.kubectl("delete", "pvc", MODELS, f"--timeout={HANG_SECONDS:.0f}s")
    admin.kubectl("delete", "pv", name, "--wait=false")


@pytest.fixture(scope="module")
def server(
    volume: str, machine: Machine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server of one pod, or two under load; the release's name."""
    repository, _, tag = SERVING_IMAGE.rpartition(":")
    values = {
        "image": {"repository": repository, "tag": tag},
        "models": {MODEL: {"source": {"claim": {"name": volume, "path": MODEL}}}},
        "storage": {"accessModes": ["ReadWriteMany"]},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        # So that a channel hears of a new pod soon.
        "server": {"maxConnectionAgeSeconds": 5},
        "autoscaling": {
            "enabled": True,
            "maxReplicas": 2,
            "targetCPUUtilizationPercentage": 50,
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


def pods(namespace: Namespace) -> list[Object]:
    """The server's pods that are ready and stay."""
    found = namespace.objects("pod", **{"app.kubernetes.io/instance": RELEASE})
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"]
        and any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions", [])
        )
    ]


def answered(namespace: Namespace, pod: Object) -> int:
    """How many requests a pod has answered, by its own count."""
    url = f"http://{pod['status']['podIP']}:8501/monitoring/prometheus/metrics"
    program = f"from urllib.request import urlopen; print(urlopen({url!r}).read().decode())"
    said = namespace.kubectl("exec", "asker", "--", "python3", "-c", program)
    counts = re.findall(r"^:tensorflow:serving:request_count\{[^}]*\} ([\d.]+)$", said, re.M)
    return int(sum(map(float, counts)))


def test_load_brings_a_pod_that_gets_its_share_and_no_request_is_lost(
    server: str, machine: Machine, tmp_path: Path
) -> None:
    there = machine.admin
    (first,) = eventually("the first pod", lambda: pods(there), 120)
    for port in (8500, 8501):
        assert_kept_out(there, first["status"]["podIP"], port)

    found = there.objects("service", **{"app.kubernetes.io/instance": server})
    (headless,) = (one["metadata"]["name"] for one in found if one["spec"]["clusterIP"] == "None")
    address = f"dns:///{headless}.{there.name}.svc.cluster.local:8500"
    asker: dict[str, Any] = sleeping_pod(
        "asker", {"image": CLIENT_IMAGE, "command": ["python3", "-u", "-c", ASK, address]}
    )
    asker["metadata"]["labels"] = {CLIENT: server}
    with metrics_server(there, tmp_path):
        there.apply(asker)
        try:
            both = eventually("two pods", lambda: _two(there), HANG_SECONDS)
            scaler = json.loads(there.kubectl("get", "hpa", server, "--output=json"))
            assert scaler["status"]["desiredReplicas"] == 2
            eventually("the share of each", lambda: _share(there, both) > 0.3, HANG_SECONDS)
            said = there.kubectl("logs", "asker").splitlines()
        finally:
            there.kubectl("delete", "pod", "asker", "--wait=false")
        good, bad = map(int, said[-1].split()[1:])
        assert good > 100
        assert bad == 0, "\n".join(line for line in said if not line.startswith("asked"))
        eventually("one pod again", lambda: len(pods(there)) == 1, HANG_SECONDS)


def _two(namespace: Namespace) -> list[Object]:
    found = pods(namespace)
    return found if len(found) == 2 else []


def _share(namespace: Namespace, both: list[Object]) -> float:
    """The smaller one's part of the requests between two looks."""
    before = [answered(namespace, pod) for pod in both]
    eventually(
        "a hundred more requests",
        lambda: sum(answered(namespace, pod) for pod in both) - sum(before) > 100,
        60,
    )
    more = [answered(namespace, pod) - old for pod, old in zip(both, before, strict=True)]
    return min(more) / sum(more)
