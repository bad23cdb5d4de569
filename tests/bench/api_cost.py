"""What a training of 1,250 tasks costs the API server and etcd, ours and a TFJob's.

Both live one life on a control plane of their own with nodes of kwok: from the command until all
has run, the workers and the chief are done and nothing of it runs any more. Requests are counted in
the audit log, in the training's namespace alone; claims are there before. A kubelet would write
more for each pod of either, and as much for both. The controllers and the scheduler may make 500
requests a second; the operator makes 20 and has no flag for more, which is most of its seconds.
"""

from __future__ import annotations

import base64
import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.bench.measure import Measure, Sample
from tests.bench.rows import Bar, Figure, Samples
from tests.bench.tfjob import operator
from tests.cluster.control_plane import ControlPlane, control_plane
from tests.cluster.fake_nodes import client_of, end, fake_nodes, pods_of, volumes
from tests.cluster.kubernetes import Namespace, condition
from tests.cluster.kwok_training import Training
from tests.support.waiting import eventually

WORKERS, PS = 1000, 250
CLAIMS = ("data", "log")
OURS, TFJOB = "ours", "TFJob"
WRITES, BYTES, REQUESTS, SECONDS = KINDS = (
    "writes a task",
    "bytes a task",
    "requests a task",
    "seconds a task",
)
OUR_LOOKS = ("kubectl/", "python-httpx")
"""Who reads for the measure itself."""
COLUMNS = [f"{kind}, {who}" for kind in KINDS for who in (OURS, TFJOB)]
LABEL = "training.kubeflow.org/replica-type"
PATIENCE = 900.0  # seconds: the operator makes 20 requests a second


def _take(count: int) -> Iterator[Sample]:
    """One life of each."""
    for _ in range(count):
        ours, theirs = _life(_ours), _life(_tfjob)
        pairs = [each for pair in zip(ours, theirs, strict=True) for each in pair]
        sample = dict(zip(COLUMNS, pairs, strict=True))
        ratios = {f"{kind} ÷": a / b for kind, a, b in zip(KINDS, ours, theirs, strict=True)}
        yield {**sample, **ratios}


def _life(live: Any) -> tuple[float, float, float, float]:
    """Writes, bytes, requests and seconds, each of a task."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with control_plane(place / "plane") as plane, fake_nodes(plane):
            there = plane.namespace("training")
            volumes(there, *CLAIMS)
            there.apply({"apiVersion": "v1", "kind": "List", "items": list(map(_claim, CLAIMS))})
            before = len(plane.requests(there.name))
            size, seconds = live(plane, there, place)
            made = plane.requests(there.name)[before:]
            tasks = 1 + WORKERS + PS
            writes = sum(request.writes for request in made)
            asked = sum(
                request.writes or not request.agent.startswith(OUR_LOOKS) for request in made
            )
            return writes / tasks, size / tasks, asked / tasks, seconds / tasks


def _ours(plane: ControlPlane, there: Namespace, folder: Path) -> tuple[int, float]:
    """Bytes in etcd while all of it runs, and seconds from the command until it does."""
    began = time.monotonic()
    training = Training(plane, there, "digits", WORKERS, PS)
    training.install(*(f"--set=storage.{name}.existingClaim={name}" for name in CLAIMS))
    training.await_running(PATIENCE)
    seconds = time.monotonic() - began
    size = _stored(plane, there)
    training.end("worker", 0)
    training.end("chief", 0)
    training.await_job("worker", "Complete", PATIENCE)
    training.clean_up(folder)
    training.await_job("cleanup", "Complete", PATIENCE)
    client = client_of(plane)
    eventually("the ps to go", lambda: not training.pods(client, "ps"), PATIENCE)
    return size, seconds


def _tfjob(plane: ControlPlane, there: Namespace, folder: Path) -> tuple[int, float]:
    """The same of a TFJob."""
    job = yaml.safe_load((Path(__file__).parent / "by_hand" / "tfjob.yaml").read_text())
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}  # as ours: who is done stays to see
    for role, number in (("Worker", WORKERS), ("PS", PS), ("Chief", 1)):
        job["spec"]["tfReplicaSpecs"][role]["replicas"] = number
    pod = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["containers"][0].update(image="registry.example/tensorflow", command=["train"])
    script = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "script"}}
    pod["volumes"][0]["configMap"]["name"] = "script"
    job["metadata"]["name"] = "digits"
    client = client_of(plane)
    with operator(there):
        began = time.monotonic()
        there.apply(script)
        there.kubectl("create", "--filename=-", stdin=json.dumps(job))
        eventually("all to run", lambda: _running(there) == 1 + WORKERS + PS, PATIENCE, every=3)
        seconds = time.monotonic() - began
        size = _stored(plane, there)
        for role in ("worker", "chief"):
            end(client, pods_of(client, there.name, {LABEL: role}), 0)
        eventually("TFJob: Succeeded", lambda: _has_succeeded(there), PATIENCE, every=3)
        ps = {LABEL: "ps"}
        eventually("the ps to go", lambda: not pods_of(client, there.name, ps), PATIENCE, every=3)
    return size, seconds


def _running(there: Namespace) -> int:
    running = "--field-selector=status.phase=Running"
    return len(there.kubectl("get", "pods", running, "--output=name").split())


def _has_succeeded(there: Namespace) -> bool:
    job = json.loads(there.kubectl("get", "tfjob/digits", "--output=json"))
    return bool(condition(job, "Succeeded"))


def _stored(plane: ControlPlane, there: Namespace) -> int:
    """Bytes of all that etcd has of a namespace now: keys and values."""
    size = 0
    for pair in _pairs(plane.addresses.etcd):
        key, value = (base64.b64decode(pair.get(part, "")) for part in ("key", "value"))
        if there.name in key.decode().split("/"):
            size += len(key) + len(value)
    return size


def _pairs(etcd: str) -> Iterator[dict[str, str]]:
    """All that is in etcd, a few at a time: an answer is at most 4 MB."""
    key = b"/registry/"
    stop = base64.b64encode(b"/registry0").decode()
    while True:
        asked = {"key": base64.b64encode(key).decode(), "range_end": stop, "limit": "50"}
        request = urllib.request.Request(f"{etcd}/v3/kv/range", json.dumps(asked).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        pairs = found.get("kvs", [])
        yield from pairs
        if not found.get("more"):
            return
        key = base64.b64decode(pairs[-1]["key"]) + b"\0"


def _claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": spec,
    }


def _against(kind: str) -> Any:
    def said(samples: Samples) -> str:
        ours, theirs = (samples[f"{kind}, {who}"][0] for who in (OURS, TFJOB))
        return f"a TFJob of training-operator 1.8.1: {theirs:.4g}; ours {ours:.4g}"

    return said


MEASURES = {
    "api-cost": Measure(
        _take,
        1,
        20,
        {
            **dict.fromkeys(COLUMNS, ""),
            **{f"{kind} ÷": "×" for kind in KINDS},
        },
        [
            Figure(
                "writes to the API server for each of 1,250 tasks, from install to cleanup, kwok",
                Bar("≤ 0.5 ×", 0.5),
                (f"{WRITES} ÷",),
                against=_against(WRITES),
                counted=True,
            ),
            Figure(
                "bytes in etcd for each of 1,250 tasks while all of them run, events too",
                None,
                (f"{BYTES} ÷",),
                against=_against(BYTES),
                counted=True,
            ),
            Figure(
                "requests to the API server for each of 1,250 tasks, reads and refusals too",
                None,
                (f"{REQUESTS} ÷",),
                against=_against(REQUESTS),
                counted=True,
            ),
            Figure(
                "seconds a task until all of 1,250 run, kwok, controllers of 500 requests a second",
                None,
                (f"{SECONDS} ÷",),
                against=_against(SECONDS),
            ),
        ],
    )
}
